/* Mel power of frames, LANES of them at a time.
 *
 * A vector register holds one sample of LANES frames, so nothing shuffles within a register but the
 * transposition that loads them. The frame of 2048 real samples is transformed as 32 x 64
 * (Cooley-Tukey): 64 transforms of 32 real samples, of which only 17 values differ; a twist; 17
 * transforms of 64. Each power goes into its one or two mel bands while it is still in a register.
 *
 * Compiled for each instruction set and precision: REAL, LANES, TABLES and the names of its functions
 * are given on the command line. No -ffast-math: it would reorder the sums, and flush the denormals
 * of the whole process that loads the library.
 */
#include "lanes.h"
#include "tables.h"

#define WIDTH (SECOND + 1) /* of a row: not a power of two, for the cache's sake */
#define ROOT_HALF ((REAL)0.70710678118654752440)

struct points {
    lanes re, im;
};

/* Eight points from re, im to out_re, out_im. */
INLINE void transform_8(const lanes *re, const lanes *im, lanes *out_re, lanes *out_im)
{
    lanes even_re[4] = {re[0], re[2], re[4], re[6]}, even_im[4] = {im[0], im[2], im[4], im[6]};
    lanes odd_re[4] = {re[1], re[3], re[5], re[7]}, odd_im[4] = {im[1], im[3], im[5], im[7]};
    transform_4(even_re, even_im);
    transform_4(odd_re, odd_im);
    const lanes turned_re[4] = {odd_re[0], (odd_re[1] + odd_im[1]) * ROOT_HALF, odd_im[2],
                                (odd_im[3] - odd_re[3]) * ROOT_HALF};
    const lanes turned_im[4] = {odd_im[0], (odd_im[1] - odd_re[1]) * ROOT_HALF, -odd_re[2],
                                (odd_re[3] + odd_im[3]) * -ROOT_HALF};
    for (int k = 0; k < 4; k++) {
        out_re[k] = even_re[k] + turned_re[k], out_im[k] = even_im[k] + turned_im[k];
        out_re[k + 4] = even_re[k] - turned_re[k], out_im[k + 4] = even_im[k] - turned_im[k];
    }
}

/* One of the values of a transform of FIRST, turned as its place among the SECOND asks for. */
INLINE void keep(struct points *column, int n2, int k1, lanes re, lanes im)
{
    const REAL turn_re = TABLES.cos_twist[n2][k1], turn_im = TABLES.sin_twist[n2][k1];
    struct points *const point = column + k1 * WIDTH;
    point->re = re * turn_re - im * turn_im;
    point->im = re * turn_im + im * turn_re;
}

/* FIRST real samples, windowed, to their ROWS complex values, WIDTH apart from column on; the other
 * values are the conjugates of these. Of the samples n2, n2 + SECOND, ... those that belong to one
 * hop lie row apart.
 *
 * As 4 x 8: of the transforms of four, number 3 is the conjugate of number 1, and numbers 0 and 2
 * are real. */
INLINE void transform_real(const REAL *samples, int row, int hop, int n2, struct points *column)
{
    lanes zero[8], one_re[8], one_im[8], two[8];
#pragma GCC unroll 8
    for (int b = 0; b < 8; b++) {
        lanes x[4];
#pragma GCC unroll 4
        for (int a = 0; a < 4; a++) {
            const REAL *const first = samples + b * row + a * hop;
            x[a] = *(const loose_lanes *)first * TABLES.window[a * HOP + b * SECOND + n2];
        }
        const lanes even = x[0] + x[2], re = x[0] - x[2], odd = x[1] + x[3], im = x[3] - x[1];
        zero[b] = even + odd, two[b] = even - odd;
        one_re[b] = re * TABLES.cos_first[b] - im * TABLES.sin_first[b];
        one_im[b] = re * TABLES.sin_first[b] + im * TABLES.cos_first[b];
    }
    /* Values 1, 5, 9, 13, and the conjugates of 15, 11, 7, 3. */
    lanes odd_re[8], odd_im[8];
    transform_8(one_re, one_im, odd_re, odd_im);
#pragma GCC unroll 4
    for (int d = 0; d < 4; d++) {
        keep(column, n2, 1 + 4 * d, odd_re[d], odd_im[d]);
        keep(column, n2, 15 - 4 * d, odd_re[4 + d], -odd_im[4 + d]);
    }
    /* Values 2, 10, and the conjugates of 14, 6: point n + 4 is a right angle from point n. */
    lanes two_re[4], two_im[4];
#pragma GCC unroll 4
    for (int n = 0; n < 4; n++) {
        two_re[n] = two[n] * TABLES.cos_first[2 * n] + two[n + 4] * TABLES.sin_first[2 * n];
        two_im[n] = two[n] * TABLES.sin_first[2 * n] - two[n + 4] * TABLES.cos_first[2 * n];
    }
    transform_4(two_re, two_im);
    keep(column, n2, 2, two_re[0], two_im[0]);
    keep(column, n2, 10, two_re[1], two_im[1]);
    keep(column, n2, 14, two_re[2], -two_im[2]);
    keep(column, n2, 6, two_re[3], -two_im[3]);
    /* Values 0, 4, 8, 12, 16: eight real points. */
    const lanes none = {0};
    const lanes a = zero[0] + zero[4], b = zero[0] - zero[4];
    const lanes c = zero[2] + zero[6], d = zero[6] - zero[2];
    const lanes e = zero[1] + zero[5], f = zero[1] - zero[5];
    const lanes g = zero[3] + zero[7], h = zero[7] - zero[3];
    const lanes p = (f + h) * ROOT_HALF, q = (h - f) * ROOT_HALF;
    keep(column, n2, 0, (a + c) + (e + g), none);
    keep(column, n2, 16, (a + c) - (e + g), none);
    keep(column, n2, 4, b + p, q + d);
    keep(column, n2, 8, a - c, g - e);
    keep(column, n2, 12, b - p, q - d);
}

/* SECOND points of row number k1, which are bins k1 + FIRST * k2 of the frame: their powers to
 * their bands. Bins above N_FFT / 2 mirror those below, in another row or (0, FIRST / 2) the same. */
INLINE void add_row(const struct points *row, int k1, const struct filters *filters, lanes *bands)
{
    struct points middle[8][8];
    for (int b = 0; b < 8; b++) {
        lanes re[8], im[8], out_re[8], out_im[8];
#pragma GCC unroll 8
        for (int a = 0; a < 8; a++)
            re[a] = row[8 * a + b].re, im[a] = row[8 * a + b].im;
        transform_8(re, im, out_re, out_im);
#pragma GCC unroll 8
        for (int c = 0; c < 8; c++) {
            const REAL turn_re = TABLES.cos_second[b][c], turn_im = TABLES.sin_second[b][c];
            middle[c][b].re = out_re[c] * turn_re - out_im[c] * turn_im;
            middle[c][b].im = out_re[c] * turn_im + out_im[c] * turn_re;
        }
    }
    const int mirrored = k1 != 0 && k1 != FIRST / 2;
    for (int c = 0; c < 8; c++) {
        lanes re[8], im[8], out_re[8], out_im[8];
#pragma GCC unroll 8
        for (int b = 0; b < 8; b++)
            re[b] = middle[c][b].re, im[b] = middle[c][b].im;
        transform_8(re, im, out_re, out_im);
        const int k = k1 + FIRST * c, step = 8 * FIRST;
#pragma GCC unroll 4
        for (int d = 0; d < 4; d++)
            add_power(out_re[d], out_im[d], k + step * d, filters, bands);
        if (mirrored) {
#pragma GCC unroll 4
            for (int d = 4; d < 8; d++)
                add_power(out_re[d], out_im[d], N_FFT - k - step * d, filters, bands);
        } else if (k == 0) {
            add_power(out_re[4], out_im[4], N_FFT / 2, filters, bands);
        }
    }
}

/* Where sample n of a hop lies among its hop's: those of one transform side by side. */
#define PLACE(n) ((n) % SECOND * (HOP / SECOND) + (n) / SECOND)

struct scratch {
    REAL samples[N_FFT * LANES] __attribute__((aligned(64)));
    struct points rows[ROWS][WIDTH];
    lanes bands[PLACES];
};

/* LANES frames to scratch->bands. Sample n of all of them begins in scratch->samples at
 * PLACE(n % HOP) * row + n / HOP * hop. */
INLINE void transform(struct scratch *scratch, int row, int hop, const struct filters *filters)
{
    for (int n2 = 0; n2 < SECOND; n2++)
        transform_real(scratch->samples + PLACE(n2) * row, row, hop, n2, &scratch->rows[0][n2]);
    memset(scratch->bands, 0, sizeof scratch->bands);
    for (int k1 = 0; k1 < ROWS; k1++)
        add_row(scratch->rows[k1], k1, filters, scratch->bands);
}

#ifdef NEIGHBOURS
/* LANES hops, from hop number first of the samples on, side by side; zeros behind the samples.
 * What was in their place moves to the columns before. */
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
        for (int row = 0; row < LANES; row++) {
            lanes *const place = (lanes *)(target + PLACE(n + row) * 2 * LANES);
            place[0] = place[1];
            place[1] = __builtin_convertvector(rows[row], lanes);
        }
    }
}

/* Frames 0 ... frames - 1, a hop apart: neighbours share their loaded samples. */
void NEIGHBOURS(const float *samples, long count, long frames, const struct filters *filters,
                float *mel)
{
    static __thread struct scratch scratch;
    load_hops(samples, count, 0, scratch.samples);
    for (long first = 0; first < frames; first += LANES) {
        load_hops(samples, count, first + LANES, scratch.samples);
        transform(&scratch, 2 * LANES, 1, filters);
        float *targets[LANES];
        for (int lane = 0; lane < LANES; lane++)
            targets[lane] = mel + (first + lane) * filters->bands;
        const int used = frames - first < LANES ? (int)(frames - first) : LANES;
        store_bands(scratch.bands, filters->bands, used, targets);
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
                *(lanes *)(scratch.samples + (n / HOP * HOP + PLACE((n + row) % HOP)) * LANES)
                    = __builtin_convertvector(rows[row], lanes);
        }
        transform(&scratch, LANES, HOP * LANES, filters);
        store_bands(scratch.bands, filters->bands, used, targets);
    }
}
#endif
