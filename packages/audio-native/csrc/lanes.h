#ifndef AUDIOLOOM_LANES_H
#define AUDIOLOOM_LANES_H

/* LANES frames at a time: a vector register holds one number of each. */
#include <string.h>

#include "kernels.h"

typedef REAL lanes __attribute__((vector_size(LANES * sizeof(REAL))));
typedef REAL loose_lanes __attribute__((vector_size(LANES * sizeof(REAL)), aligned(sizeof(REAL))));
typedef float floats __attribute__((vector_size(LANES * sizeof(float))));
typedef float loose_floats __attribute__((vector_size(LANES * sizeof(float)), aligned(4)));

#define INLINE static inline __attribute__((always_inline))

/* Four points in place. */
INLINE void transform_4(lanes *re, lanes *im)
{
    const lanes a = re[0] + re[2], b = im[0] + im[2], c = re[0] - re[2], d = im[0] - im[2];
    const lanes e = re[1] + re[3], f = im[1] + im[3], g = re[1] - re[3], h = im[1] - im[3];
    re[0] = a + e, im[0] = b + f;
    re[1] = c + h, im[1] = d - g;
    re[2] = a - e, im[2] = b - f;
    re[3] = c - h, im[3] = d + g;
}

/* Band m of all frames in place m + 1: place 0 takes what is in no band. The rest is room for a last
 * block to be read. */
#define PLACES (MAX_BANDS + 2 + LANES)

INLINE void add_power(lanes re, lanes im, int bin, const struct filters *filters, lanes *bands)
{
    const lanes power = re * re + im * im;
    lanes *band = bands + filters->falling[bin];
    band[0] += power * (REAL)filters->falling_weight[bin];
    band[1] += power * (REAL)filters->rising_weight[bin];
}

/* Rows to columns, by exchanging blocks of 1, 2, 4, ... across the diagonal. Of two rows, size
 * apart, LOW are the lanes for the first and HIGH those for the second. */
#define LOW(lane, size) ((lane) & (size) ? LANES + (lane) - (size) : (lane))
#define HIGH(lane, size) ((lane) & (size) ? LANES + (lane) : (lane) + (size))
#define LANES_4(F, n, size) F(n, size), F((n) + 1, size), F((n) + 2, size), F((n) + 3, size)
#define LANES_8(F, n, size) LANES_4(F, n, size), LANES_4(F, (n) + 4, size)
#define LANES_16(F, n, size) LANES_8(F, n, size), LANES_8(F, (n) + 8, size)
#if LANES == 16
#define EVERY_LANE(F, size) LANES_16(F, 0, size)
#elif LANES == 8
#define EVERY_LANE(F, size) LANES_8(F, 0, size)
#else
#define EVERY_LANE(F, size) LANES_4(F, 0, size)
#endif
#define EXCHANGE(rows, size)                                                                       \
    for (int row = 0; row < LANES; row++)                                                          \
        if (!(row & (size))) {                                                                     \
            const floats a = (rows)[row], b = (rows)[row + (size)];                                \
            (rows)[row] = __builtin_shufflevector(a, b, EVERY_LANE(LOW, size));                    \
            (rows)[row + (size)] = __builtin_shufflevector(a, b, EVERY_LANE(HIGH, size));          \
        }

INLINE void transpose(floats *rows)
{
    EXCHANGE(rows, 1)
    EXCHANGE(rows, 2)
#if LANES > 4
    EXCHANGE(rows, 4)
#endif
#if LANES > 8
    EXCHANGE(rows, 8)
#endif
}

/* The sums of the bands, in their places, to the rows of the frames. */
INLINE void store_bands(const lanes *sums, int bands, int used, float *const *targets)
{
    for (int band = 0; band < bands; band += LANES) {
        floats rows[LANES];
        for (int row = 0; row < LANES; row++)
            rows[row] = __builtin_convertvector(sums[band + row + 1], floats);
        transpose(rows);
        const int many = bands - band;
        for (int lane = 0; lane < used; lane++)
            if (many >= LANES)
                *(loose_floats *)(targets[lane] + band) = rows[lane];
            else
                memcpy(targets[lane] + band, &rows[lane], (size_t)many * sizeof(float));
    }
}

#endif
