/* Mel power of frames of any even length whose half has no factors but 2, 3 and 5, any hop apart.
 *
 * A real frame is transformed as a complex one of half the length (even samples real, odd ones
 * imaginary), by Stockham's method: each pass takes one factor, and leaves its results in order. The
 * two halves of the spectrum are then told apart by their symmetry. As in mel_powers.c, a register
 * holds one number of LANES frames.
 *
 * Compiled for each instruction set and precision: REAL, LANES and the names of its functions are
 * given on the command line.
 */
#include "lanes.h"

#define MAX_HALF (MAX_FFT / 2)

struct any_scratch {
    lanes first_re[MAX_HALF], first_im[MAX_HALF];
    lanes second_re[MAX_HALF], second_im[MAX_HALF];
    lanes bands[PLACES];
};

struct place {
    lanes *re, *im;
};

/* The radix-point transforms of re, im in place. */
INLINE void points_2(lanes *re, lanes *im)
{
    const lanes a = re[1], b = im[1];
    re[1] = re[0] - a, im[1] = im[0] - b;
    re[0] += a, im[0] += b;
}

INLINE void points_3(lanes *re, lanes *im)
{
    const REAL half_root = (REAL)0.86602540378443864676; /* sin(2 pi / 3) */
    const lanes sum_re = re[1] + re[2], sum_im = im[1] + im[2];
    const lanes turned_re = (im[1] - im[2]) * half_root, turned_im = (re[2] - re[1]) * half_root;
    const lanes mid_re = re[0] - sum_re * (REAL)0.5, mid_im = im[0] - sum_im * (REAL)0.5;
    re[0] += sum_re, im[0] += sum_im;
    re[1] = mid_re + turned_re, im[1] = mid_im + turned_im;
    re[2] = mid_re - turned_re, im[2] = mid_im - turned_im;
}

INLINE void points_5(lanes *re, lanes *im)
{
    const REAL c1 = (REAL)0.30901699437494742410, c2 = (REAL)-0.80901699437494742410;
    const REAL s1 = (REAL)0.95105651629515357212, s2 = (REAL)0.58778525229247312917;
    const lanes a_re = re[1] + re[4], a_im = im[1] + im[4];
    const lanes b_re = re[2] + re[3], b_im = im[2] + im[3];
    const lanes c_re = re[1] - re[4], c_im = im[1] - im[4];
    const lanes d_re = re[2] - re[3], d_im = im[2] - im[3];
    const lanes e_re = re[0] + a_re * c1 + b_re * c2, e_im = im[0] + a_im * c1 + b_im * c2;
    const lanes f_re = re[0] + a_re * c2 + b_re * c1, f_im = im[0] + a_im * c2 + b_im * c1;
    const lanes g_re = c_im * s1 + d_im * s2, g_im = -(c_re * s1 + d_re * s2);
    const lanes h_re = c_im * s2 - d_im * s1, h_im = d_re * s1 - c_re * s2;
    re[0] += a_re + b_re, im[0] += a_im + b_im;
    re[1] = e_re + g_re, im[1] = e_im + g_im;
    re[4] = e_re - g_re, im[4] = e_im - g_im;
    re[2] = f_re + h_re, im[2] = f_im + h_im;
    re[3] = f_re - h_re, im[3] = f_im - h_im;
}

/* One pass: transforms of radix points, of which length / radix begin in each of the stride columns;
 * turned and put in the order that the next pass takes. */
INLINE void pass(struct place from, struct place to, int length, int stride, int radix,
                 const struct geometry *shape)
{
    const REAL *const turn_re = shape->turn_re, *const turn_im = shape->turn_im;
    const int many = length / radix;
    for (int p = 0; p < many; p++) {
        for (int q = 0; q < stride; q++) {
            lanes re[5], im[5];
#pragma GCC unroll 5
            for (int j = 0; j < radix; j++) {
                re[j] = from.re[q + stride * (p + many * j)];
                im[j] = from.im[q + stride * (p + many * j)];
            }
            if (radix == 2)
                points_2(re, im);
            else if (radix == 3)
                points_3(re, im);
            else if (radix == 4)
                transform_4(re, im);
            else
                points_5(re, im);
            lanes *const out_re = to.re + q + stride * radix * p;
            lanes *const out_im = to.im + q + stride * radix * p;
            out_re[0] = re[0], out_im[0] = im[0];
#pragma GCC unroll 4
            for (int k = 1; k < radix; k++) {
                const REAL c = turn_re[p * k * stride], s = turn_im[p * k * stride];
                out_re[stride * k] = re[k] * c - im[k] * s;
                out_im[stride * k] = re[k] * s + im[k] * c;
            }
        }
    }
}

/* The complex transform of the half; where its result lies. */
INLINE struct place transform_half(struct any_scratch *scratch, const struct geometry *shape)
{
    struct place from = {scratch->first_re, scratch->first_im};
    struct place to = {scratch->second_re, scratch->second_im};
    int length = shape->n_fft / 2, stride = 1;
    for (int step = 0; step < shape->steps; step++) {
        const int radix = shape->radices[step];
        if (radix == 4)
            pass(from, to, length, stride, 4, shape);
        else if (radix == 2)
            pass(from, to, length, stride, 2, shape);
        else if (radix == 3)
            pass(from, to, length, stride, 3, shape);
        else
            pass(from, to, length, stride, 5, shape);
        length /= radix, stride *= radix;
        const struct place last = from;
        from = to, to = last;
    }
    return from;
}

/* Bins 0 ... n_fft / 2 of the real frame to their bands. */
INLINE void add_bins(struct place half, lanes *bands, const struct geometry *shape,
                     const struct filters *filters)
{
    const int many = shape->n_fft / 2;
    const REAL *const split_re = shape->split_re, *const split_im = shape->split_im;
    const lanes none = {0};
    add_power(half.re[0] + half.im[0], none, 0, filters, bands);
    add_power(half.re[0] - half.im[0], none, many, filters, bands);
    for (int k = 1; 2 * k <= many; k++) {
        const lanes a = half.re[k], b = half.im[k], c = half.re[many - k], d = half.im[many - k];
        const lanes even_re = (a + c) * (REAL)0.5, even_im = (b - d) * (REAL)0.5;
        const lanes odd_re = (b + d) * (REAL)0.5, odd_im = (c - a) * (REAL)0.5;
        const REAL cosine = split_re[k], sine = split_im[k];
        const lanes re = odd_re * cosine - odd_im * sine, im = odd_re * sine + odd_im * cosine;
        add_power(even_re + re, even_im + im, k, filters, bands);
        if (2 * k < many)
            add_power(even_re - re, even_im - im, many - k, filters, bands);
    }
}

/* The frames that begin at the given samples, to the given rows. */
INLINE void take_frames(struct any_scratch *scratch, const float *const *starts, int used,
                        const struct geometry *shape, const struct filters *filters,
                        float *const *targets)
{
    const REAL *const window = shape->window;
    for (int n = 0; n < shape->n_fft; n += LANES) {
        floats rows[LANES];
        const int left = shape->n_fft - n;
        for (int lane = 0; lane < LANES; lane++) {
            const float *const from = starts[lane < used ? lane : 0] + n;
            rows[lane] = (floats){0};
            if (left >= LANES)
                rows[lane] = *(const loose_floats *)from;
            else
                memcpy(&rows[lane], from, (size_t)left * sizeof(float));
        }
        transpose(rows);
        for (int row = 0; row < LANES && row < left; row++) {
            const lanes value = __builtin_convertvector(rows[row], lanes) * window[n + row];
            *((row & 1 ? scratch->first_im : scratch->first_re) + (n + row) / 2) = value;
        }
    }
    memset(scratch->bands, 0, sizeof(lanes) * (size_t)(filters->bands + 2 + LANES));
    add_bins(transform_half(scratch, shape), scratch->bands, shape, filters);
    store_bands(scratch->bands, filters->bands, used, targets);
}

/* Frames of the given numbers, or all from the first on if there are none given. */
INLINE void take_all(const float *samples, const long *numbers, long frames,
                     const struct geometry *shape, const struct filters *filters, float *mel)
{
    static __thread struct any_scratch scratch;
    for (long first = 0; first < frames; first += LANES) {
        const int used = frames - first < LANES ? (int)(frames - first) : LANES;
        const float *starts[LANES];
        float *targets[LANES];
        for (int lane = 0; lane < used; lane++) {
            const long number = numbers ? numbers[first + lane] : first + lane;
            starts[lane] = samples + number * shape->hop;
            targets[lane] = mel + number * filters->bands;
        }
        take_frames(&scratch, starts, used, shape, filters, targets);
    }
}

#ifdef ANY_NEIGHBOURS
void ANY_NEIGHBOURS(const float *samples, long frames, const struct geometry *shape,
                    const struct filters *filters, float *mel)
{
    take_all(samples, 0, frames, shape, filters, mel);
}
#endif

#ifdef ANY_CHOSEN
void ANY_CHOSEN(const float *samples, const long *numbers, long frames,
                const struct geometry *shape, const struct filters *filters, float *mel)
{
    take_all(samples, numbers, frames, shape, filters, mel);
}
#endif
