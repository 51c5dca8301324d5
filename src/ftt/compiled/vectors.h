/* What the kernels share: the type of numbers, vectors of them, and versions of a function for newer processors. */

#ifndef FTT_VECTORS_H
#define FTT_VECTORS_H

/* Compiled once with float and once with double. */
#ifndef REAL
#define REAL float
#endif

#define LANES_OF_float 16
#define LANES_OF_double 8
#define LANES_OF(type) LANES_OF_##type
#define LANES_IN(type) LANES_OF(type)
#define LANES LANES_IN(REAL)

typedef REAL vector __attribute__((vector_size(64)));
/* The same in memory, where it may begin anywhere. */
typedef REAL stored __attribute__((vector_size(64), aligned(sizeof(REAL)), may_alias));

#define LOAD(from) (*(const stored *)(from))
#define STORE(to, value) (*(stored *)(to) = (value))

/* The numbers of a vector, each `by` lanes further down; those that fall out at the end come in at the other. */
#if LANES == 16
#define TURNED(of, by) \
  __builtin_shufflevector(of, of, by, by + 1, by + 2, by + 3, by + 4, by + 5, by + 6, by + 7, by + 8, by + 9, by + 10, \
                          by + 11, by + 12, by + 13, by + 14, by + 15)
#else
#define TURNED(of, by) __builtin_shufflevector(of, of, by, by + 1, by + 2, by + 3, by + 4, by + 5, by + 6, by + 7)
#endif

/* Inlined wherever it is called, so that constant arguments unroll loops and vectors stay in registers. */
#define INLINE static inline __attribute__((always_inline))

/* The loader picks the version that the processor can run. Without versions only the oldest instructions of x86 could be
   used, and torch is faster than that. */
#if !defined(__x86_64__)
#define EXPORT
#elif defined(__clang__) || !defined(__linux__)
#error "no versions for newer processors"
#else
#define EXPORT __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif

INLINE long least(long a, long b) { return a < b ? a : b; }
INLINE long largest(long a, long b) { return a > b ? a : b; }

#endif
