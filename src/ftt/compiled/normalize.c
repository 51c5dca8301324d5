/* BatchNorm in training mode and the clipping after it, on rows of channels.

   torch goes over the rows three times for the statistics and the output, once more to clip, and as often on the way
   back. Here it is twice each way, and nothing but the input is needed again on the way back: what was clipped follows
   from it. Sums over a few rows are taken in the rows' own precision, sums of these in double precision. */

#include <math.h>

#include "vectors.h"

/* Channels that are worked on at a time: their sums stay in the innermost cache. */
#define WIDE 512
#define FEW_ROWS 64

typedef struct {
  long rows, channels;
  double momentum, eps, low, high;
} Settings;

INLINE void moments(const REAL *restrict x, long rows, long channels, long c, REAL *restrict mean,
                    double *restrict variance) {
  REAL sum[WIDE], square[WIDE], about[WIDE];
  double sums[WIDE], squares[WIDE];
  /* About the mean of the first rows, so that squares lose no digits to a large mean. */
  const long first = least(rows, FEW_ROWS);
  for (long k = 0; k < c; k++) about[k] = 0, sums[k] = 0, squares[k] = 0;
  for (long row = 0; row < first; row++)
    for (long k = 0; k < c; k++) about[k] += x[row * channels + k];
  for (long k = 0; k < c; k++) about[k] /= (REAL)first;
  for (long start = 0; start < rows; start += FEW_ROWS) {
    for (long k = 0; k < c; k++) sum[k] = 0, square[k] = 0;
    for (long row = start; row < least(rows, start + FEW_ROWS); row++) {
      const REAL *restrict values = x + row * channels;
      for (long k = 0; k < c; k++) {
        const REAL apart = values[k] - about[k];
        sum[k] += apart;
        square[k] += apart * apart;
      }
    }
    for (long k = 0; k < c; k++) sums[k] += (double)sum[k], squares[k] += (double)square[k];
  }
  for (long k = 0; k < c; k++) {
    const double apart = sums[k] / (double)rows;
    mean[k] = (REAL)((double)about[k] + apart);
    variance[k] = fmax(squares[k] / (double)rows - apart * apart, 0);
  }
}

EXPORT void normalize(const REAL *restrict x, REAL *restrict y, const REAL *restrict gamma, const REAL *restrict beta,
                      REAL *restrict running_mean, REAL *restrict running_variance, REAL *restrict mean,
                      REAL *restrict precision, const Settings *of) {
  const REAL low = (REAL)of->low, high = (REAL)of->high, momentum = (REAL)of->momentum;
  const double unbiased = (double)of->rows / (double)(of->rows - 1);
  for (long begin = 0; begin < of->channels; begin += WIDE) {
    const long c = least(WIDE, of->channels - begin);
    REAL centre[WIDE], scale[WIDE], shift[WIDE];
    double variance[WIDE];
    moments(x + begin, of->rows, of->channels, c, centre, variance);
    for (long k = 0; k < c; k++) {
      precision[begin + k] = (REAL)(1 / sqrt(variance[k] + of->eps));
      mean[begin + k] = centre[k];
      scale[k] = gamma[begin + k] * precision[begin + k];
      shift[k] = beta[begin + k];
      running_mean[begin + k] += momentum * (centre[k] - running_mean[begin + k]);
      running_variance[begin + k] += momentum * ((REAL)(variance[k] * unbiased) - running_variance[begin + k]);
    }
    for (long row = 0; row < of->rows; row++) {
      const REAL *restrict from = x + row * of->channels + begin;
      REAL *restrict to = y + row * of->channels + begin;
      for (long k = 0; k < c; k++) {
        const REAL z = (from[k] - centre[k]) * scale[k] + shift[k], raised = z < low ? low : z;
        to[k] = raised > high ? high : raised;
      }
    }
  }
}

/* `dx` may be `dy`. */
EXPORT void normalize_gradient(const REAL *dy, const REAL *restrict x, REAL *dx, const REAL *restrict gamma,
                               const REAL *restrict beta, const REAL *restrict mean, const REAL *restrict precision,
                               REAL *restrict d_gamma, REAL *restrict d_beta, const Settings *of) {
  const REAL low = (REAL)of->low, high = (REAL)of->high;
  for (long begin = 0; begin < of->channels; begin += WIDE) {
    const long c = least(WIDE, of->channels - begin);
    REAL centre[WIDE], scale[WIDE], shift[WIDE], sum[WIDE], product[WIDE], slope[WIDE], level[WIDE];
    double sums[WIDE], products[WIDE];
    for (long k = 0; k < c; k++) {
      centre[k] = mean[begin + k];
      scale[k] = gamma[begin + k] * precision[begin + k];
      shift[k] = beta[begin + k];
      sums[k] = products[k] = 0;
    }
    for (long start = 0; start < of->rows; start += FEW_ROWS) {
      for (long k = 0; k < c; k++) sum[k] = 0, product[k] = 0;
      for (long row = start; row < least(of->rows, start + FEW_ROWS); row++) {
        const REAL *restrict from = x + row * of->channels + begin;
        const REAL *restrict given = dy + row * of->channels + begin;
        for (long k = 0; k < c; k++) {
          const REAL apart = from[k] - centre[k], z = apart * scale[k] + shift[k], whole = given[k];
          const REAL passed = z > low ? whole : 0, kept = z < high ? passed : 0;
          sum[k] += kept;
          product[k] += kept * apart;
        }
      }
      for (long k = 0; k < c; k++) sums[k] += (double)sum[k], products[k] += (double)product[k];
    }
    for (long k = 0; k < c; k++) {
      const double own = (double)precision[begin + k];
      d_gamma[begin + k] = (REAL)(products[k] * own);
      d_beta[begin + k] = (REAL)sums[k];
      level[k] = (REAL)(sums[k] / (double)of->rows) * scale[k];
      slope[k] = (REAL)(products[k] / (double)of->rows * own * own) * scale[k];
    }
    for (long row = 0; row < of->rows; row++) {
      const REAL *restrict from = x + row * of->channels + begin;
      const REAL *given = dy + row * of->channels + begin;
      REAL *to = dx + row * of->channels + begin;
      /* Every entry is read before it is written, and no other one depends on it. */
#pragma GCC ivdep
      for (long k = 0; k < c; k++) {
        const REAL apart = from[k] - centre[k], z = apart * scale[k] + shift[k], whole = given[k];
        const REAL passed = z > low ? whole : 0, kept = z < high ? passed : 0;
        to[k] = kept * scale[k] - apart * slope[k] - level[k];
      }
    }
  }
}
