/* Sums of products of every two columns, for moments of features.

   Columns are laid out in panels, row after row, so that a tile of sums stays in registers while it is added to and reads
   nothing but what lies next to each other. Each sum is taken in the same order whatever the tiles and the threads. */

#include "vectors.h"

/* Vectors in a row of a panel; a tile is as wide, and as high as a vector has lanes. */
#define ACROSS 3
#define PANEL (ACROSS * LANES)

/* Rows of the block, columns of the matrix, and the panels from `first` to before `end` that are meant. */
typedef struct {
  long rows, columns, first, end;
} Part;

/* (rows, columns) x → (panels, rows, PANEL), with zeros after the last column. */
EXPORT void lay_out(const REAL *x, REAL *panels, const Part *of) {
  for (long panel = of->first; panel < of->end; panel++) {
    const long begin = panel * PANEL, width = least(PANEL, of->columns - begin);
    REAL *to = panels + begin * of->rows;
    for (long row = 0; row < of->rows; row++, to += PANEL) {
      const REAL *from = x + row * of->columns + begin;
      if (width == PANEL)
        for (int v = 0; v < ACROSS; v++) STORE(to + v * LANES, LOAD(from + v * LANES));
      else
        for (long k = 0; k < PANEL; k++) to[k] = k < width ? from[k] : 0;
    }
  }
}

/* Products of a vector's width of columns with a panel, added to a tile that is cut at the edges of the matrix. */
INLINE void add_tile(const REAL *left, const REAL *right, REAL *sums, long rows, long high, long wide, long columns) {
  vector sum[LANES][ACROSS];
  for (int i = 0; i < LANES; i++)
    for (int v = 0; v < ACROSS; v++) sum[i][v] = (vector){0};
  for (long row = 0; row < rows; row++, left += PANEL, right += PANEL) {
    vector values[ACROSS];
    for (int v = 0; v < ACROSS; v++) values[v] = LOAD(right + v * LANES);
    for (int i = 0; i < LANES; i++)
      for (int v = 0; v < ACROSS; v++) sum[i][v] += values[v] * left[i];
  }
  if (high == LANES && wide == PANEL) {
    for (int i = 0; i < LANES; i++, sums += columns)
      for (int v = 0; v < ACROSS; v++) STORE(sums + v * LANES, LOAD(sums + v * LANES) + sum[i][v]);
    return;
  }
  REAL whole[LANES][PANEL];
  for (int i = 0; i < LANES; i++)
    for (int v = 0; v < ACROSS; v++) STORE(whole[i] + v * LANES, sum[i][v]);
  for (long i = 0; i < high; i++)
    for (long k = 0; k < wide; k++) sums[i * columns + k] += whole[i][k];
}

/* sums += xᵀ x on and right of the diagonal, in the rows of some panels; what is left of it becomes rubbish. */
EXPORT void add_squares(const REAL *panels, REAL *sums, const Part *of) {
  const long d = of->columns, height = of->rows;
  for (long left = of->first * PANEL; left < least(d, of->end * PANEL); left += PANEL)
    for (long right = left; right < d; right += PANEL)
      for (long part = 0; part < PANEL && left + part < d; part += LANES)
        add_tile(panels + left * height + part, panels + right * height, sums + (left + part) * d + right, height,
                 least(LANES, d - left - part), least(PANEL, d - right), d);
}
