/* Products of one long matrix with a few vectors: it is read once, at the speed of the memory it lies in.

   BLAS lays out a matrix anew before it multiplies, which for a few vectors takes longer than the product.

   A vector of the processor that does not begin at a line of the cache lies on two, which halves the speed, and NumPy's
   large arrays begin 16 bytes past a line. So rows are read from the line before on, that is from the end of the row
   above, and to the line after; what is read too much meets weights of zero, or is added to sums that nobody reads. The
   first and the last row, which have no such neighbours, are read as they are. Every sum is taken in the same order
   wherever the matrix begins.

   Rows that nobody needs can be left out: half of them are not in a problem that is fitted to a half. */

#include "vectors.h"

#define VECTORS 4

/* The matrix is (rows, columns) and begins `past` numbers past a line, as each of its rows then does; 0 where rows differ
   in this. Vectors with a number for each column take up columns + LANES numbers: `past` zeros, then theirs, then zeros.
   `used` rows are read. */
typedef struct {
  long rows, columns, past, vectors, used;
} Sizes;

/* The number of the i-th row that is read; without a list all are. */
INLINE long number(const long *which, long i) { return which ? which[i] : i; }

/* How many rows from the i-th one on are read together: `most` of them, or one. */
INLINE long together(const long *which, long i, long most, const Sizes *of) {
  const long edge = of->past ? 1 : 0;
  const int inside = i + most <= of->used && number(which, i) >= edge && number(which, i + most - 1) < of->rows - edge;
  return inside ? most : 1;
}

/* By how many numbers before its first column a row is read. */
INLINE long before(long row, const Sizes *of) { return row && row < of->rows - 1 ? of->past : 0; }

/* The sum of all lanes. Opposite ones are added, then those a quarter apart, and so on round the circle: the same sum to the
   bit in whichever lane column 0 is. */
INLINE REAL added_up(vector of) {
  of += TURNED(of, LANES / 2);
  of += TURNED(of, LANES / 4);
  of += TURNED(of, LANES / 8);
  if (LANES == 16) of += TURNED(of, 1);
  return of[0];
}

/* Rows that are multiplied at a time; the next ones are fetched meanwhile. More are slower. */
#define ABREAST 2

/* Products of some rows, from the i-th on, with the vectors. */
INLINE void dot_products(const REAL *x, const REAL *w, REAL *out, const long *which, const Sizes *of, long i,
                         const int rows, const int count) {
  const long d = of->columns, apart = d + LANES, early = before(number(which, i), of), width = early ? apart : d;
  const REAL *from[ABREAST], *next[ABREAST];
  vector sum[ABREAST][VECTORS];
  for (int row = 0; row < rows; row++) {
    from[row] = x + number(which, i + row) * d - early;
    next[row] = x + number(which, least(i + row + rows, of->used - 1)) * d - early;
    for (int v = 0; v < count; v++) sum[row][v] = (vector){0};
  }
  w += of->past - early;
  long k = 0;
  for (; k + LANES <= width; k += LANES) {
    vector values[ABREAST];
    for (int row = 0; row < rows; row++) {
      __builtin_prefetch(next[row] + k);
      values[row] = LOAD(from[row] + k);
    }
    for (int v = 0; v < count; v++) {
      const vector weights = LOAD(w + v * apart + k);
      for (int row = 0; row < rows; row++) sum[row][v] += values[row] * weights;
    }
  }
  for (int row = 0; row < rows; row++)
    for (int v = 0; v < count; v++) {
      REAL total = added_up(sum[row][v]);
      for (long rest = k; rest < width; rest++) total += from[row][rest] * w[v * apart + rest];
      out[v * of->rows + number(which, i + row)] = total;
    }
}

INLINE void scores_by(const REAL *x, const REAL *w, REAL *out, const long *which, const Sizes *of, const int count) {
  for (long i = 0; i < of->used;)
    if (together(which, i, ABREAST, of) == ABREAST) {
      dot_products(x, w, out, which, of, i, ABREAST, count);
      i += ABREAST;
    } else {
      dot_products(x, w, out, which, of, i, 1, count);
      i++;
    }
}

/* Several rows at a time, so that the sums are loaded and stored once for all of them; added one after the other. */
#define TOGETHER 8

INLINE void add_rows(const REAL *x, const REAL *shares, REAL *out, const long *which, const Sizes *of, long i,
                     const int rows, const int count) {
  const long d = of->columns, apart = d + LANES, early = before(number(which, i), of), width = early ? apart : d;
  const REAL *from[TOGETHER];
  REAL share[VECTORS][TOGETHER];
  for (int row = 0; row < rows; row++) {
    from[row] = x + number(which, i + row) * d - early;
    for (int v = 0; v < count; v++) share[v][row] = shares[v * of->rows + number(which, i + row)];
  }
  out += of->past - early;
  long k = 0;
  for (; k + LANES <= width; k += LANES) {
    vector values[TOGETHER];
    for (int row = 0; row < rows; row++) values[row] = LOAD(from[row] + k);
    for (int v = 0; v < count; v++) {
      vector sum = LOAD(out + v * apart + k);
      for (int row = 0; row < rows; row++) sum += values[row] * share[v][row];
      STORE(out + v * apart + k, sum);
    }
  }
  for (; k < width; k++)
    for (int v = 0; v < count; v++)
      for (int row = 0; row < rows; row++) out[v * apart + k] += from[row][k] * share[v][row];
}

INLINE void sums_by(const REAL *x, const REAL *shares, REAL *out, const long *which, const Sizes *of, const int count) {
  for (long i = 0; i < of->used;)
    if (together(which, i, TOGETHER, of) == TOGETHER) {
      add_rows(x, shares, out, which, of, i, TOGETHER, count);
      i += TOGETHER;
    } else {
      add_rows(x, shares, out, which, of, i, 1, count);
      i++;
    }
}

/* out = w xᵀ for (n, d) x and (J, d) w, with J from 1 to 4; only the columns of out whose rows are read are written. */
EXPORT void scores(const REAL *x, const REAL *w, REAL *out, const long *which, const Sizes *of) {
  switch (of->vectors) {
    case 1: scores_by(x, w, out, which, of, 1); break;
    case 2: scores_by(x, w, out, which, of, 2); break;
    case 3: scores_by(x, w, out, which, of, 3); break;
    default: scores_by(x, w, out, which, of, 4);
  }
}

/* out += shares x for (n, d) x and (J, n) shares, with J from 1 to 4. */
EXPORT void sums(const REAL *x, const REAL *shares, REAL *out, const long *which, const Sizes *of) {
  switch (of->vectors) {
    case 1: sums_by(x, shares, out, which, of, 1); break;
    case 2: sums_by(x, shares, out, which, of, 2); break;
    case 3: sums_by(x, shares, out, which, of, 3); break;
    default: sums_by(x, shares, out, which, of, 4);
  }
}
