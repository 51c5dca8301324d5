/* Depthwise convolutions in channels_last, for training.

   Maps are (image, row, column, channel), kernels (row, column, channel). Channels are independent of each other and
   lie next to each other, so that a strip of them is a few vectors. Every sum is taken in the same order whatever the
   width of the processor's own vectors. */

#include "vectors.h"

/* The map on which the kernel is laid (x), the one that comes of it (y), and how. */
typedef struct {
  long images, channels, height, width, out_height, out_width, rows, columns, down, across, top, left;
} Layout;

typedef enum { FORWARD, INPUT_GRADIENT, WEIGHT_GRADIENT } Task;

/* Neighbouring outputs that are computed together, so that a tap is loaded once for all of them. */
#define TOGETHER 4

/* `pixels` outputs, all of whose windows are whole in width. */
INLINE void whole_windows(const REAL *x, const REAL *taps, REAL *y, long rows, const Layout *of, const int columns,
                          const int pixels, const int vectors) {
  const long C = of->channels;
  vector sum[TOGETHER][4];
  for (int p = 0; p < pixels; p++)
    for (int v = 0; v < vectors; v++) sum[p][v] = (vector){0};
  for (long row = 0; row < rows; row++, x += of->width * C, taps += columns * C)
    for (int column = 0; column < columns; column++)
      for (int v = 0; v < vectors; v++) {
        const vector tap = LOAD(taps + column * C + v * LANES);
        for (int p = 0; p < pixels; p++) sum[p][v] += LOAD(x + (p * of->across + column) * C + v * LANES) * tap;
      }
  for (int p = 0; p < pixels; p++)
    for (int v = 0; v < vectors; v++) STORE(y + p * C + v * LANES, sum[p][v]);
}

/* One output whose window may reach over an edge: only `rows` × `columns` taps of it read the map. */
INLINE void cut_window(const REAL *x, const REAL *taps, REAL *y, long rows, long columns, const Layout *of,
                       const int vectors) {
  const long C = of->channels;
  vector sum[4];
  for (int v = 0; v < vectors; v++) sum[v] = (vector){0};
  for (long row = 0; row < rows; row++, x += of->width * C, taps += of->columns * C)
    for (long column = 0; column < columns; column++)
      for (int v = 0; v < vectors; v++) sum[v] += LOAD(x + column * C + v * LANES) * LOAD(taps + column * C + v * LANES);
  for (int v = 0; v < vectors; v++) STORE(y + v * LANES, sum[v]);
}

/* The convolution of a strip; `columns` is 0 where the width of the kernel is not known to the compiler. */
INLINE void forward(const REAL *x, const REAL *taps, REAL *y, const Layout *of, const int columns, const int vectors) {
  const long C = of->channels, room = of->width + of->left - of->columns;
  /* Outputs from `first` to `last` have windows that are whole in width. */
  const long first = (of->left + of->across - 1) / of->across;
  const long last = columns && room >= 0 ? least(of->out_width, room / of->across + 1) : 0;
  for (long image = 0; image < of->images; image++)
    for (long i = 0; i < of->out_height; i++) {
      const long above = i * of->down - of->top, from = largest(0, -above);
      const long rows = largest(0, least(of->rows, of->height - above) - from);
      const REAL *line = x + (image * of->height + above + from) * of->width * C;
      const REAL *tap = taps + from * of->columns * C;
      REAL *out = y + (image * of->out_height + i) * of->out_width * C;
      for (long j = 0; j < of->out_width;) {
        const long begin = j * of->across - of->left;
        if (j >= first && j + TOGETHER <= last) {
          whole_windows(line + begin * C, tap, out + j * C, rows, of, columns, TOGETHER, vectors);
          j += TOGETHER;
        } else if (j >= first && j < last) {
          whole_windows(line + begin * C, tap, out + j * C, rows, of, columns, 1, vectors);
          j++;
        } else {
          const long skipped = largest(0, -begin), reached = least(of->columns, of->width - begin);
          cut_window(line + (begin + skipped) * C, tap + skipped * C, out + j * C, rows, reached - skipped, of, vectors);
          j++;
        }
      }
    }
}

INLINE long divided_up(long a, long b) { return a > 0 ? (a + b - 1) / b : 0; }

/* What every input gets from the outputs that read it. */
INLINE void input_gradient(REAL *dx, const REAL *taps, const REAL *dy, const Layout *of, const int vectors) {
  const long C = of->channels;
  for (long image = 0; image < of->images; image++)
    for (long i = 0; i < of->height; i++) {
      const long low = i + of->top, upper = divided_up(low - of->rows + 1, of->down);
      const long lower = least(of->out_height - 1, low / of->down);
      for (long j = 0; j < of->width; j++) {
        const long right = j + of->left, first = divided_up(right - of->columns + 1, of->across);
        const long last = least(of->out_width - 1, right / of->across);
        vector sum[4];
        for (int v = 0; v < vectors; v++) sum[v] = (vector){0};
        for (long k = upper; k <= lower; k++) {
          const REAL *given = dy + ((image * of->out_height + k) * of->out_width + first) * C;
          const REAL *tap = taps + ((low - k * of->down) * of->columns + right - first * of->across) * C;
          for (long l = first; l <= last; l++, given += C, tap -= of->across * C)
            for (int v = 0; v < vectors; v++) sum[v] += LOAD(given + v * LANES) * LOAD(tap + v * LANES);
        }
        REAL *out = dx + ((image * of->height + i) * of->width + j) * C;
        for (int v = 0; v < vectors; v++) STORE(out + v * LANES, sum[v]);
      }
    }
}

/* Adds what every tap gets: row by row of the outputs, so that both rows stay in the cache from tap to tap. */
INLINE void weight_gradient(const REAL *x, REAL *taps, const REAL *dy, const Layout *of, const int vectors) {
  const long C = of->channels;
  for (long image = 0; image < of->images; image++)
    for (long i = 0; i < of->out_height; i++) {
      const long above = i * of->down - of->top, end = least(of->rows, of->height - above);
      const REAL *line = dy + (image * of->out_height + i) * of->out_width * C;
      for (long row = largest(0, -above); row < end; row++) {
        const REAL *read = x + (image * of->height + above + row) * of->width * C;
        for (long column = 0; column < of->columns; column++) {
          const long shift = of->left - column, first = divided_up(shift, of->across);
          const long past = of->width - 1 + shift >= 0 ? least(of->out_width, (of->width - 1 + shift) / of->across + 1) : 0;
          const REAL *given = line + first * C, *seen = read + (first * of->across - shift) * C;
          REAL *tap = taps + (row * of->columns + column) * C;
          vector sum[4];
          for (int v = 0; v < vectors; v++) sum[v] = LOAD(tap + v * LANES);
          for (long j = first; j < past; j++, given += C, seen += of->across * C)
            for (int v = 0; v < vectors; v++) sum[v] += LOAD(given + v * LANES) * LOAD(seen + v * LANES);
          for (int v = 0; v < vectors; v++) STORE(tap + v * LANES, sum[v]);
        }
      }
    }
}

INLINE void strip(const Task task, REAL *x, REAL *taps, REAL *y, const Layout *of, const int vectors) {
  if (task == INPUT_GRADIENT)
    input_gradient(x, taps, y, of, vectors);
  else if (task == WEIGHT_GRADIENT)
    weight_gradient(x, taps, y, of, vectors);
  else if (of->columns == 3)
    forward(x, taps, y, of, 3, vectors);
  else if (of->columns == 5)
    forward(x, taps, y, of, 5, vectors);
  else
    forward(x, taps, y, of, 0, vectors);
}

/* Numbers of both maps that are worked on at a time: they fit into the cache next to the core. */
#define CACHED (256 * 1024 / (long)sizeof(REAL))

/* Strips read a map in leaps that the processor does not foresee, so it is told what comes. */
INLINE void fetch(const REAL *from, long size) {
  for (long k = 0; k < size; k += LANES) __builtin_prefetch(from + k, 0, 2);
}

/* A few images at a time, all channels of them in strips; the number of channels is a multiple of LANES. */
INLINE void all_channels(const Task task, REAL *x, REAL *taps, REAL *y, const Layout *of) {
  const long C = of->channels, size = of->height * of->width * C, out_size = of->out_height * of->out_width * C;
  const long some = largest(1, CACHED / (size + out_size));
  for (long image = 0; image < of->images; image += some, x += some * size, y += some * out_size) {
    Layout part = *of;
    part.images = least(some, of->images - image);
    fetch(x, part.images * size);
    fetch(y, part.images * out_size);
    long c = 0;
    for (; c + 4 * LANES <= C; c += 4 * LANES) strip(task, x + c, taps + c, y + c, &part, 4);
    for (; c + 2 * LANES <= C; c += 2 * LANES) strip(task, x + c, taps + c, y + c, &part, 2);
    for (; c < C; c += LANES) strip(task, x + c, taps + c, y + c, &part, 1);
  }
}

EXPORT void depthwise(REAL *x, REAL *taps, REAL *y, const Layout *of) { all_channels(FORWARD, x, taps, y, of); }

EXPORT void depthwise_input_gradient(REAL *x, REAL *taps, REAL *y, const Layout *of) {
  all_channels(INPUT_GRADIENT, x, taps, y, of);
}

/* The taps are added to. */
EXPORT void depthwise_weight_gradient(REAL *x, REAL *taps, REAL *y, const Layout *of) {
  all_channels(WEIGHT_GRADIENT, x, taps, y, of);
}
