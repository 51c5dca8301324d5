/* Products of one long matrix with a few vectors: the matrix is read once, and from memory at full speed.

   BLAS lays out a matrix anew before it multiplies, which for a few vectors takes longer than the product. */

#include "vectors.h"

/* Vectors and rows that are worked on together: their sums stay in registers. */
#define VECTORS 4
#define ROWS 4

typedef struct {
  long rows, columns, vectors;
} Sizes;

INLINE REAL added_up(vector of) {
  REAL sum = 0;
  for (long lane = 0; lane < LANES; lane++) sum += of[lane];
  return sum;
}

INLINE void dot_products(const REAL *x, const REAL *w, REAL *out, const Sizes *of, const int rows, const int count) {
  const long d = of->columns;
  vector sum[ROWS][VECTORS];
  for (int row = 0; row < rows; row++)
    for (int v = 0; v < count; v++) sum[row][v] = (vector){0};
  long k = 0;
  for (; k + LANES <= d; k += LANES) {
    vector values[ROWS];
    for (int row = 0; row < rows; row++) values[row] = LOAD(x + row * d + k);
    for (int v = 0; v < count; v++) {
      const vector weights = LOAD(w + v * d + k);
      for (int row = 0; row < rows; row++) sum[row][v] += values[row] * weights;
    }
  }
  for (int row = 0; row < rows; row++)
    for (int v = 0; v < count; v++) {
      REAL total = added_up(sum[row][v]);
      for (long rest = k; rest < d; rest++) total += x[row * d + rest] * w[v * d + rest];
      out[v * of->rows + row] = total;
    }
}

INLINE void scores_by(const REAL *x, const REAL *w, REAL *out, const Sizes *of, const int count) {
  long row = 0;
  for (; row + ROWS <= of->rows; row += ROWS) dot_products(x + row * of->columns, w, out + row, of, ROWS, count);
  for (; row < of->rows; row++) dot_products(x + row * of->columns, w, out + row, of, 1, count);
}

INLINE void add_rows(const REAL *x, const REAL *shares, REAL *out, const Sizes *of, const int rows, const int count) {
  const long d = of->columns;
  REAL share[VECTORS][ROWS];
  for (int v = 0; v < count; v++)
    for (int row = 0; row < rows; row++) share[v][row] = shares[v * of->rows + row];
  long k = 0;
  for (; k + LANES <= d; k += LANES) {
    vector values[ROWS];
    for (int row = 0; row < rows; row++) values[row] = LOAD(x + row * d + k);
    for (int v = 0; v < count; v++) {
      vector sum = LOAD(out + v * d + k);
      for (int row = 0; row < rows; row++) sum += values[row] * share[v][row];
      STORE(out + v * d + k, sum);
    }
  }
  for (; k < d; k++)
    for (int v = 0; v < count; v++)
      for (int row = 0; row < rows; row++) out[v * d + k] += x[row * d + k] * share[v][row];
}

INLINE void sums_by(const REAL *x, const REAL *shares, REAL *out, const Sizes *of, const int count) {
  long row = 0;
  for (; row + ROWS <= of->rows; row += ROWS) add_rows(x + row * of->columns, shares + row, out, of, ROWS, count);
  for (; row < of->rows; row++) add_rows(x + row * of->columns, shares + row, out, of, 1, count);
}

/* out = w xᵀ for (n, d) x and (J, d) w. */
EXPORT void scores(const REAL *x, const REAL *w, REAL *out, const Sizes *of) {
  for (long v = 0; v < of->vectors; v += VECTORS) {
    const REAL *some = w + v * of->columns;
    REAL *to = out + v * of->rows;
    switch (least(VECTORS, of->vectors - v)) {
      case 1: scores_by(x, some, to, of, 1); break;
      case 2: scores_by(x, some, to, of, 2); break;
      case 3: scores_by(x, some, to, of, 3); break;
      default: scores_by(x, some, to, of, 4);
    }
  }
}

/* out += shares x for (n, d) x and (J, n) shares. */
EXPORT void sums(const REAL *x, const REAL *shares, REAL *out, const Sizes *of) {
  for (long v = 0; v < of->vectors; v += VECTORS) {
    const REAL *some = shares + v * of->rows;
    REAL *to = out + v * of->columns;
    switch (least(VECTORS, of->vectors - v)) {
      case 1: sums_by(x, some, to, of, 1); break;
      case 2: sums_by(x, some, to, of, 2); break;
      case 3: sums_by(x, some, to, of, 3); break;
      default: sums_by(x, some, to, of, 4);
    }
  }
}
