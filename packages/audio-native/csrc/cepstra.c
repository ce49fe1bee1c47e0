/* Mel powers of a window to its cepstral coefficients.
 *
 * Plain loops over independent elements, which compilers vectorise without changing a bit; sums are
 * spread over a fixed number of places and added up in a fixed order, so that every instruction set
 * gives the same ones.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels.h"

#define PLACES 16

#ifdef DELICATE
static inline void add_places(const float *powers, const float *heights, const float *by_height,
                              float half, float *power, float *sensitivity)
{
    for (int place = 0; place < PLACES; place++) {
        power[place] += powers[place] * by_height[place];
        sensitivity[place] += heights[place] / (powers[place] > half ? powers[place] : INFINITY);
    }
}

/* Numbers of the frames whose quiet bands a float32 transform would spoil, in order; answers how
 * many. Noise of the transform is spread evenly over the bins, relative to the power of the frame;
 * what it does to a band grows with the height of its filter and falls with the band's power. Bands
 * below half the floor come out as the floor whatever their noise. */
long DELICATE(const float *mel, long frames, const struct tail *tail, float floor, float limit,
              long *numbers)
{
    const float half = floor / 2;
    const int bands = tail->bands, whole = bands - bands % PLACES;
    const size_t rest = sizeof(float) * (size_t)(bands - whole);
    /* Weights of zero up to a whole number of places: the numbers read there add nothing. */
    float heights[PLACES] = {0}, by_height[PLACES] = {0}, end[PLACES] = {0};
    memcpy(heights, tail->heights + whole, rest);
    memcpy(by_height, tail->by_height + whole, rest);
    long count = 0;
    for (long frame = 0; frame < frames; frame++) {
        const float *const row = mel + frame * bands;
        float power[PLACES] = {0}, sensitivity[PLACES] = {0};
        for (int band = 0; band < whole; band += PLACES)
            add_places(row + band, tail->heights + band, tail->by_height + band, half, power,
                       sensitivity);
        const float *last = row + whole;
        if ((frames - frame) * bands < whole + PLACES) { /* behind the frames is nothing to read */
            memcpy(end, last, rest);
            last = end;
        }
        add_places(last, heights, by_height, half, power, sensitivity);
#pragma GCC unroll 4
        for (int apart = PLACES / 2; apart; apart /= 2)
            for (int place = 0; place < apart; place++) {
                power[place] += power[place + apart];
                sensitivity[place] += sensitivity[place + apart];
            }
        if (power[0] * sensitivity[0] > limit * (N_FFT / 2 + 1) * bands)
            numbers[count++] = frame;
    }
    return count;
}
#endif

#ifdef CEPSTRA
#define TOGETHER 4 /* frames, */
#define COLUMNS 3  /* and vectors of coefficients: as many sums are under way as registers hold */
#define FEW 16     /* bands: longer sums would be rounded too roughly */

typedef float floats __attribute__((vector_size(32)));
typedef float loose_floats __attribute__((vector_size(32), aligned(4)));

/* 10 log10 of count positive normal numbers, those below floor raised to it: Cephes' logf (Moshier),
 * rounded once at the end. Inlined, it would look up the address of the thread's memory again in
 * every turn of the loop. */
static __attribute__((noinline)) void decibels(const float *powers, int count, float floor,
                                               float *out)
{
    for (int i = 0; i < count; i++) {
        const float power = powers[i] > floor ? powers[i] : floor;
        uint32_t bits;
        memcpy(&bits, &power, sizeof bits);
        /* The mantissa between the roots of 1/2 and of 2. */
        const uint32_t shifted = bits - 0x3f3504f3u;
        const float exponent = (float)((int32_t)shifted >> 23);
        const uint32_t rest = (shifted & 0x007fffffu) + 0x3f3504f3u;
        float m;
        memcpy(&m, &rest, sizeof m);
        m -= 1;
        float sum = 7.0376836292e-2f;
        sum = sum * m - 1.1514610310e-1f;
        sum = sum * m + 1.1676998740e-1f;
        sum = sum * m - 1.2420140846e-1f;
        sum = sum * m + 1.4249322787e-1f;
        sum = sum * m - 1.6668057665e-1f;
        sum = sum * m + 2.0000714765e-1f;
        sum = sum * m - 2.4999993993e-1f;
        sum = sum * m + 3.3333331174e-1f;
        const float low = m * m * m * sum - 0.5f * m * m + m;
        /* 10 log10(2) in two parts, the first short enough to be multiplied exactly. */
        const float fine = low * 4.3429448190325f + exponent * 4.6050389811952e-5f;
        out[i] = exponent * 3.01025390625f + fine;
    }
}

/* The levels of a frame without their mean, folded in the middle: sums of those as far from either
 * end for the even coefficients, differences for the odd ones. Answers the mean. */
static float fold(const float *levels, int bands, float *even, float *odd)
{
    double sums[PLACES] = {0};
    for (int band = 0; band + PLACES <= bands; band += PLACES)
        for (int place = 0; place < PLACES; place++)
            sums[place] += levels[band + place];
    const float *const last = levels + bands - bands % PLACES;
    for (int place = 0; place < PLACES; place++) /* read to the end: the rest is not counted */
        sums[place] += place < bands % PLACES ? last[place] : 0;
    double eight[8], four[4];
    for (int place = 0; place < 8; place++)
        eight[place] = sums[place] + sums[place + 8];
    for (int place = 0; place < 4; place++)
        four[place] = eight[place] + eight[place + 4];
    const float mean = (float)(((four[0] + four[2]) + (four[1] + four[3])) / bands);
    for (int band = 0; band < bands / 2; band++) {
        const float low = levels[band] - mean, high = levels[bands - 1 - band] - mean;
        even[band] = low + high, odd[band] = low - high;
    }
    if (bands % 2)
        even[bands / 2] = levels[bands / 2] - mean, odd[bands / 2] = 0;
    return mean;
}

/* Decibels and their cosine transform: (coefficients, frames). Only c0 knows of a frame's mean:
 * without it float32 is fine enough for the others. */
void CEPSTRA(const float *mel, long frames, const struct tail *tail, float floor, float *out)
{
    static __thread float levels[TOGETHER * MAX_BANDS + PLACES], folded[2][TOGETHER][MAX_BANDS / 2];
    const int bands = tail->bands, half = (bands + 1) / 2;
    const double root = sqrt(bands);
    for (long first = 0; first < frames; first += TOGETHER) {
        const int used = frames - first < TOGETHER ? (int)(frames - first) : TOGETHER;
        float means[TOGETHER];
        decibels(mel + first * bands, used * bands, floor, levels);
        for (int frame = 0; frame < used; frame++)
            means[frame] = fold(levels + frame * bands, bands, folded[0][frame], folded[1][frame]);
        for (int start = 0; start < 2 * tail->width; start += 8 * COLUMNS) {
            const int odd = start >= tail->width, number = start - odd * tail->width;
            const float *const weights = tail->transform + odd * half * tail->width + number;
            floats totals[TOGETHER][COLUMNS] = {0};
            for (int band = 0; band < half; band += FEW) {
                floats sums[TOGETHER][COLUMNS] = {0};
                for (int near = band; near < band + FEW && near < half; near++)
                    for (int column = 0; column < COLUMNS; column++) {
                        const floats weight
                            = *(const loose_floats *)(weights + near * tail->width + 8 * column);
                        for (int frame = 0; frame < TOGETHER; frame++)
                            sums[frame][column] += weight * folded[odd][frame][near];
                    }
                for (int frame = 0; frame < TOGETHER; frame++)
                    for (int column = 0; column < COLUMNS; column++)
                        totals[frame][column] += sums[frame][column];
            }
            float plain[TOGETHER][8 * COLUMNS];
            memcpy(plain, totals, sizeof plain);
            for (int place = 0; place < 8 * COLUMNS; place++) {
                const int coefficient = 2 * (number + place) + odd;
                if (coefficient >= tail->coefficients)
                    break;
                for (int frame = 0; frame < used; frame++)
                    out[coefficient * frames + first + frame] = plain[frame][place];
            }
        }
        for (int frame = 0; frame < used; frame++)
            out[first + frame] = (float)(means[frame] * root + out[first + frame]);
    }
}
#endif
