/* Products of one long matrix with a few vectors: it is read once, at the speed of the memory it lies in.

   BLAS lays out a matrix anew before it multiplies, which for a few vectors takes longer than the product.

   A vector of the processor that does not begin at a line of the cache lies on two, which halves the speed, and NumPy's
   large arrays begin 16 bytes past a line. So rows are read from the line before on, that is from the end of the row
   above, and to the line after; what is read too much meets weights of zero, or is added to sums that nobody reads. The
   first and the last row, which have no such neighbours, are read as they are. Every sum is taken in the same order
   wherever the matrix begins. */

#include "vectors.h"

#define VECTORS 4

/* The matrix is (rows, columns) and begins `past` numbers past a line, as each of its rows then does; 0 where rows differ
   in this. Vectors with a number for each column take up columns + LANES numbers: `past` zeros, then theirs, then zeros. */
typedef struct {
  long rows, columns, past, vectors;
} Sizes;

/* Columns of the same remainder are in one lane; they are added up from column 0 on, which is in lane `past`. */
INLINE REAL added_up(vector of, long past) {
  REAL lanes[2 * LANES], sum = 0;
  STORE(lanes, of);
  STORE(lanes + LANES, of);
  for (long lane = 0; lane < LANES; lane++) sum += lanes[past + lane];
  return sum;
}

/* Products of some rows with the vectors; both begin `before` numbers before their first column. */
INLINE void dot_products(const REAL *x, const REAL *w, REAL *out, const Sizes *of, long before, const int rows,
                         const int count) {
  const long d = of->columns, width = before ? d + LANES : d, apart = d + LANES;
  vector sum[4][VECTORS];
  for (int row = 0; row < rows; row++)
    for (int v = 0; v < count; v++) sum[row][v] = (vector){0};
  long k = 0;
  for (; k + LANES <= width; k += LANES) {
    vector values[4];
    for (int row = 0; row < rows; row++) {
      __builtin_prefetch(x + (row + 4) * d + k);
      values[row] = LOAD(x + row * d + k);
    }
    for (int v = 0; v < count; v++) {
      const vector weights = LOAD(w + v * apart + k);
      for (int row = 0; row < rows; row++) sum[row][v] += values[row] * weights;
    }
  }
  for (int row = 0; row < rows; row++)
    for (int v = 0; v < count; v++) {
      REAL total = added_up(sum[row][v], before);
      for (long rest = k; rest < width; rest++) total += x[row * d + rest] * w[v * apart + rest];
      out[v * of->rows + row] = total;
    }
}

INLINE void scores_by(const REAL *x, const REAL *w, REAL *out, const Sizes *of, const int count) {
  const long d = of->columns, past = of->past, edge = past ? 1 : 0;
  long row = 0;
  for (; row < edge; row++) dot_products(x + row * d, w + past, out + row, of, 0, 1, count);
  for (; row + 4 <= of->rows - edge; row += 4) dot_products(x + row * d - past, w, out + row, of, past, 4, count);
  for (; row < of->rows - edge; row++) dot_products(x + row * d - past, w, out + row, of, past, 1, count);
  for (; row < of->rows; row++) dot_products(x + row * d, w + past, out + row, of, 0, 1, count);
}

/* Several rows at a time, so that the sums are loaded and stored once for all of them; added one after the other. */
#define TOGETHER 8

INLINE void add_rows(const REAL *x, const REAL *shares, REAL *out, const Sizes *of, long before, const int rows,
                     const int count) {
  const long d = of->columns, width = before ? d + LANES : d, apart = d + LANES;
  REAL share[VECTORS][TOGETHER];
  for (int v = 0; v < count; v++)
    for (int row = 0; row < rows; row++) share[v][row] = shares[v * of->rows + row];
  long k = 0;
  for (; k + LANES <= width; k += LANES) {
    vector values[TOGETHER];
    for (int row = 0; row < rows; row++) values[row] = LOAD(x + row * d + k);
    for (int v = 0; v < count; v++) {
      vector sum = LOAD(out + v * apart + k);
      for (int row = 0; row < rows; row++) sum += values[row] * share[v][row];
      STORE(out + v * apart + k, sum);
    }
  }
  for (; k < width; k++)
    for (int v = 0; v < count; v++)
      for (int row = 0; row < rows; row++) out[v * apart + k] += x[row * d + k] * share[v][row];
}

INLINE void sums_by(const REAL *x, const REAL *shares, REAL *out, const Sizes *of, const int count) {
  const long d = of->columns, past = of->past, edge = past ? 1 : 0;
  long row = 0;
  for (; row < edge; row++) add_rows(x + row * d, shares + row, out + past, of, 0, 1, count);
  for (; row + TOGETHER <= of->rows - edge; row += TOGETHER)
    add_rows(x + row * d - past, shares + row, out, of, past, TOGETHER, count);
  for (; row < of->rows - edge; row++) add_rows(x + row * d - past, shares + row, out, of, past, 1, count);
  for (; row < of->rows; row++) add_rows(x + row * d, shares + row, out + past, of, 0, 1, count);
}

/* out = w xᵀ for (n, d) x and (J, d) w, with J from 1 to 4. */
EXPORT void scores(const REAL *x, const REAL *w, REAL *out, const Sizes *of) {
  switch (of->vectors) {
    case 1: scores_by(x, w, out, of, 1); break;
    case 2: scores_by(x, w, out, of, 2); break;
    case 3: scores_by(x, w, out, of, 3); break;
    default: scores_by(x, w, out, of, 4);
  }
}

/* out += shares x for (n, d) x and (J, n) shares, with J from 1 to 4. */
EXPORT void sums(const REAL *x, const REAL *shares, REAL *out, const Sizes *of) {
  switch (of->vectors) {
    case 1: sums_by(x, shares, out, of, 1); break;
    case 2: sums_by(x, shares, out, of, 2); break;
    case 3: sums_by(x, shares, out, of, 3); break;
    default: sums_by(x, shares, out, of, 4);
  }
}
