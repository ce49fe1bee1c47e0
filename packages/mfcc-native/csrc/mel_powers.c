/* Mel power of frames, LANES of them at a time.
 *
 * A vector register holds one sample of LANES frames, so nothing shuffles within a register but the
 * transposition that loads them. The frame of 2048 real samples is taken as 1024 complex ones,
 * transformed as 32 x 32 (Cooley-Tukey: 32 transforms of 32, a twist, 32 transforms of 32), and
 * split into the spectrum of the real frame; each power goes into its one or two mel bands while it
 * is still in a register.
 *
 * Compiled for each instruction set and precision: REAL, LANES and the names of its functions are
 * given on the command line. No -ffast-math: it would reorder the sums, and flush the denormals of
 * the whole process that loads the library.
 */
#include <math.h>
#include <string.h>

#include "kernels.h"

typedef REAL lanes __attribute__((vector_size(LANES * sizeof(REAL))));
typedef REAL loose_lanes __attribute__((vector_size(LANES * sizeof(REAL)), aligned(sizeof(REAL))));
typedef float floats __attribute__((vector_size(LANES * sizeof(float))));
typedef float loose_floats __attribute__((vector_size(LANES * sizeof(float)), aligned(4)));

#define INLINE static inline __attribute__((always_inline))
#define HALF (N_FFT / 2)
#define SIDE 32 /* HALF = SIDE * SIDE */
#define ROOT_HALF ((REAL)0.70710678118654752440)

static REAL window[N_FFT];                           /* Hann, periodic */
static REAL cos_half[HALF], sin_half[HALF];          /* exp(-2 pi i k / HALF) */
static REAL cos_full[HALF + 1], sin_full[HALF + 1];  /* exp(-2 pi i k / N_FFT) */

__attribute__((constructor)) static void fill_tables(void)
{
    const double turn = 2 * 3.14159265358979323846;
    for (int n = 0; n < N_FFT; n++)
        window[n] = (REAL)(0.5 - 0.5 * cos(turn * n / N_FFT));
    for (int k = 0; k < HALF; k++)
        cos_half[k] = (REAL)cos(turn * k / HALF), sin_half[k] = (REAL)-sin(turn * k / HALF);
    for (int k = 0; k <= HALF; k++)
        cos_full[k] = (REAL)cos(turn * k / N_FFT), sin_full[k] = (REAL)-sin(turn * k / N_FFT);
}

/* Four points, step apart, in place. */
INLINE void transform_4(lanes *re, lanes *im, int step)
{
    const lanes a = re[0] + re[2 * step], b = im[0] + im[2 * step];
    const lanes c = re[0] - re[2 * step], d = im[0] - im[2 * step];
    const lanes e = re[step] + re[3 * step], f = im[step] + im[3 * step];
    const lanes g = re[step] - re[3 * step], h = im[step] - im[3 * step];
    re[0] = a + e, im[0] = b + f;
    re[step] = c + h, im[step] = d - g;
    re[2 * step] = a - e, im[2 * step] = b - f;
    re[3 * step] = c - h, im[3 * step] = d + g;
}

/* Eight points from re, im to out_re, out_im. */
INLINE void transform_8(const lanes *re, const lanes *im, lanes *out_re, lanes *out_im)
{
    lanes even_re[4] = {re[0], re[2], re[4], re[6]}, even_im[4] = {im[0], im[2], im[4], im[6]};
    lanes odd_re[4] = {re[1], re[3], re[5], re[7]}, odd_im[4] = {im[1], im[3], im[5], im[7]};
    transform_4(even_re, even_im, 1);
    transform_4(odd_re, odd_im, 1);
    const lanes turned_re[4] = {odd_re[0], (odd_re[1] + odd_im[1]) * ROOT_HALF, odd_im[2],
                                (odd_im[3] - odd_re[3]) * ROOT_HALF};
    const lanes turned_im[4] = {odd_im[0], (odd_im[1] - odd_re[1]) * ROOT_HALF, -odd_re[2],
                                (odd_re[3] + odd_im[3]) * -ROOT_HALF};
    for (int k = 0; k < 4; k++) {
        out_re[k] = even_re[k] + turned_re[k], out_im[k] = even_im[k] + turned_im[k];
        out_re[k + 4] = even_re[k] - turned_re[k], out_im[k + 4] = even_im[k] - turned_im[k];
    }
}

/* SIDE points in place: four transforms of eight, a twist, eight transforms of four. */
INLINE void transform_32(lanes *re, lanes *im)
{
    lanes wide_re[SIDE], wide_im[SIDE];
#pragma GCC unroll 4
    for (int b = 0; b < 4; b++) {
        lanes part_re[8], part_im[8];
#pragma GCC unroll 8
        for (int a = 0; a < 8; a++)
            part_re[a] = re[4 * a + b], part_im[a] = im[4 * a + b];
        transform_8(part_re, part_im, wide_re + 8 * b, wide_im + 8 * b);
    }
#pragma GCC unroll 8
    for (int c = 0; c < 8; c++) {
#pragma GCC unroll 4
        for (int b = 1; b < 4; b++) {
            const REAL turn_re = cos_half[SIDE * b * c], turn_im = sin_half[SIDE * b * c];
            const lanes p = wide_re[8 * b + c], q = wide_im[8 * b + c];
            wide_re[8 * b + c] = p * turn_re - q * turn_im;
            wide_im[8 * b + c] = p * turn_im + q * turn_re;
        }
        transform_4(wide_re + c, wide_im + c, 8);
#pragma GCC unroll 4
        for (int d = 0; d < 4; d++)
            re[c + 8 * d] = wide_re[c + 8 * d], im[c + 8 * d] = wide_im[c + 8 * d];
    }
}

INLINE void add_power(lanes re, lanes im, int bin, const struct filters *filters, lanes *bands)
{
    const lanes power = re * re + im * im;
    lanes *band = bands + filters->falling[bin];
    band[0] += power * (REAL)filters->falling_weight[bin];
    band[1] += power * (REAL)filters->rising_weight[bin];
}

/* Row k1 of the transform, bins k = k1 + SIDE * k2, and row SIDE - k1, where the bins HALF - k lie:
 * the powers of both, four times too large, to their bands. */
INLINE void add_row(const lanes *re, const lanes *im, const lanes *far_re, const lanes *far_im,
                    int k1, const struct filters *filters, lanes *bands)
{
    for (int k2 = 0; k2 < SIDE; k2++) {
        const int k = k1 + SIDE * k2, mirrored = (HALF - k) & (HALF - 1), far = mirrored / SIDE;
        if (k > mirrored && (k1 == 0 || k1 == SIDE / 2))
            continue; /* the row is its own mirror: each pair once */
        const lanes even_re = re[k2] + far_re[far], even_im = im[k2] - far_im[far];
        const lanes odd_re = im[k2] + far_im[far], odd_im = far_re[far] - re[k2];
        const lanes turned_re = odd_re * cos_full[k] - odd_im * sin_full[k];
        const lanes turned_im = odd_re * sin_full[k] + odd_im * cos_full[k];
        add_power(even_re + turned_re, even_im + turned_im, k, filters, bands);
        if (k != HALF - k)
            add_power(even_re - turned_re, even_im - turned_im, HALF - k, filters, bands);
    }
}

struct scratch {
    REAL samples[N_FFT * LANES] __attribute__((aligned(64)));
    lanes re[SIDE][SIDE + 1], im[SIDE][SIDE + 1];
    lanes bands[MAX_BANDS + 2 + LANES]; /* band m in row m + 1; room for a last block to be read */
};

/* LANES frames to scratch->bands. Sample n of all of them begins in scratch->samples at
 * n % HOP * row + n / HOP * hop. */
INLINE void transform(struct scratch *scratch, int row, int hop, const struct filters *filters)
{
    for (int n2 = 0; n2 < SIDE; n2++) {
        lanes re[SIDE], im[SIDE];
        for (int n1 = 0; n1 < SIDE; n1++) {
            const int n = 2 * (SIDE * n1 + n2);
            const REAL *first = scratch->samples + (n & (HOP - 1)) * row + n / HOP * hop;
            re[n1] = *(const loose_lanes *)first * window[n];
            im[n1] = *(const loose_lanes *)(first + row) * window[n + 1];
        }
        transform_32(re, im);
        for (int k1 = 0; k1 < SIDE; k1++) {
            const REAL turn_re = cos_half[n2 * k1], turn_im = sin_half[n2 * k1];
            scratch->re[k1][n2] = re[k1] * turn_re - im[k1] * turn_im;
            scratch->im[k1][n2] = re[k1] * turn_im + im[k1] * turn_re;
        }
    }
    memset(scratch->bands, 0, sizeof scratch->bands);
    for (int k1 = 0; k1 <= SIDE / 2; k1++) {
        const int far = (SIDE - k1) & (SIDE - 1);
        transform_32(scratch->re[k1], scratch->im[k1]);
        if (far != k1)
            transform_32(scratch->re[far], scratch->im[far]);
        add_row(scratch->re[k1], scratch->im[k1], scratch->re[far], scratch->im[far], k1, filters,
                scratch->bands);
    }
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

INLINE void store_bands(const struct scratch *scratch, int bands, int used, float *const *targets)
{
    for (int band = 0; band < bands; band += LANES) {
        floats rows[LANES];
        for (int row = 0; row < LANES; row++)
            rows[row] = __builtin_convertvector(scratch->bands[band + row + 1] * (REAL)0.25, floats);
        transpose(rows);
        const int many = bands - band < LANES ? bands - band : LANES;
        for (int lane = 0; lane < used; lane++)
            memcpy(targets[lane] + band, &rows[lane], (size_t)many * sizeof(float));
    }
}

#ifdef NEIGHBOURS
/* LANES hops, from hop number first of the samples on, side by side from column on; zeros behind
 * the samples. */
static void load_hops(const float *samples, long count, long first, REAL *target)
{
    for (int n = 0; n < HOP; n += LANES) {
        floats rows[LANES];
        for (int hop = 0; hop < LANES; hop++) {
            const long start = (first + hop) * HOP + n;
            if (start + LANES <= count) {
                rows[hop] = *(const loose_floats *)(samples + start);
            } else {
                rows[hop] = (floats){0};
                if (start < count)
                    memcpy(&rows[hop], samples + start, (size_t)(count - start) * sizeof(float));
            }
        }
        transpose(rows);
        for (int row = 0; row < LANES; row++)
            *(lanes *)(target + (n + row) * 2 * LANES) = __builtin_convertvector(rows[row], lanes);
    }
}

/* Frames 0 ... frames - 1, a hop apart: neighbours share their loaded samples. */
void NEIGHBOURS(const float *samples, long count, long frames, const struct filters *filters,
                float *mel)
{
    static __thread struct scratch scratch;
    REAL *const later = scratch.samples + LANES;
    load_hops(samples, count, 0, later);
    for (long first = 0; first < frames; first += LANES) {
        for (int n = 0; n < HOP; n++)
            *(lanes *)(scratch.samples + n * 2 * LANES) = *(const lanes *)(later + n * 2 * LANES);
        load_hops(samples, count, first + LANES, later);
        transform(&scratch, 2 * LANES, 1, filters);
        float *targets[LANES];
        for (int lane = 0; lane < LANES; lane++)
            targets[lane] = mel + (first + lane) * filters->bands;
        const int used = frames - first < LANES ? (int)(frames - first) : LANES;
        store_bands(&scratch, filters->bands, used, targets);
    }
}
#endif

#ifdef CHOSEN
/* The frames of the given numbers only; each lies in the samples whole. */
void CHOSEN(const float *samples, const long *numbers, long frames, const struct filters *filters,
            float *mel)
{
    static __thread struct scratch scratch;
    for (long first = 0; first < frames; first += LANES) {
        const int used = frames - first < LANES ? (int)(frames - first) : LANES;
        long taken[LANES];
        float *targets[LANES];
        for (int lane = 0; lane < LANES; lane++) {
            taken[lane] = numbers[first + (lane < used ? lane : 0)];
            targets[lane] = mel + taken[lane] * filters->bands;
        }
        for (int n = 0; n < N_FFT; n += LANES) {
            floats rows[LANES];
            for (int lane = 0; lane < LANES; lane++)
                rows[lane] = *(const loose_floats *)(samples + taken[lane] * HOP + n);
            transpose(rows);
            for (int row = 0; row < LANES; row++)
                *(lanes *)(scratch.samples + (n + row) * LANES)
                    = __builtin_convertvector(rows[row], lanes);
        }
        transform(&scratch, LANES, HOP * LANES, filters);
        store_bands(&scratch, filters->bands, used, targets);
    }
}
#endif
