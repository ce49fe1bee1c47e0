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
#define ADD(band, place)                                                                           \
    {                                                                                              \
        const float value = row[band];                                                             \
        power[place] += value * tail->by_height[band];                                             \
        sensitivity[place] += tail->heights[band] / (value > half ? value : INFINITY);             \
    }

/* Numbers of the frames whose quiet bands a float32 transform would spoil, in order; answers how
 * many. Noise of the transform is spread evenly over the bins, relative to the power of the frame;
 * what it does to a band grows with the height of its filter and falls with the band's power. Bands
 * below half the floor come out as the floor whatever their noise. */
long DELICATE(const float *mel, long frames, const struct tail *tail, float floor, float limit,
              long *numbers)
{
    const float half = floor / 2;
    const int bands = tail->bands;
    long count = 0;
    for (long frame = 0; frame < frames; frame++) {
        const float *row = mel + frame * bands;
        float power[PLACES] = {0}, sensitivity[PLACES] = {0};
        for (int band = 0; band + PLACES <= bands; band += PLACES)
            for (int place = 0; place < PLACES; place++)
                ADD(band + place, place)
        for (int band = bands - bands % PLACES; band < bands; band++)
            ADD(band, band % PLACES)
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
#define TOGETHER 8 /* frames: as many sums are under way at once */

typedef double doubles __attribute__((vector_size(64)));
typedef double loose_doubles __attribute__((vector_size(64), aligned(8)));

/* 10 log10 of count positive normal numbers: Cephes' logf (Moshier), the exponent's part and the
 * scaling in float64. */
static void decibels(const float *powers, int count, double *out)
{
    for (int i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, powers + i, sizeof bits);
        /* The mantissa between the roots of 1/2 and of 2. */
        const uint32_t shifted = bits - 0x3f3504f3u;
        const int exponent = (int32_t)shifted >> 23;
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
        const double low = (double)(m * m * m * sum) - 0.5 * m * m + m;
        out[i] = low * 4.3429448190325182765 + exponent * 3.0102999566398119521;
    }
}

/* Decibels, clamped from below at the floor's, then the cosine transform: (coefficients, frames).
 * tail->transform is (bands, width), width a multiple of 8 that holds all coefficients. */
void CEPSTRA(const float *mel, long frames, const struct tail *tail, float floor, float *out)
{
    static __thread double levels[TOGETHER][MAX_BANDS];
    const int bands = tail->bands;
    for (long first = 0; first < frames; first += TOGETHER) {
        const int used = frames - first < TOGETHER ? (int)(frames - first) : TOGETHER;
        for (int frame = 0; frame < used; frame++) {
            float powers[MAX_BANDS];
            for (int band = 0; band < bands; band++) {
                const float value = mel[(first + frame) * bands + band];
                powers[band] = value > floor ? value : floor;
            }
            decibels(powers, bands, levels[frame]);
        }
        for (int start = 0; start < tail->width; start += 8) {
            doubles sums[TOGETHER] = {0};
            for (int band = 0; band < bands; band++) {
                const doubles weights
                    = *(const loose_doubles *)(tail->transform + band * tail->width + start);
                for (int frame = 0; frame < TOGETHER; frame++)
                    sums[frame] += weights * levels[frame][band];
            }
            for (int place = 0; place < 8 && start + place < tail->coefficients; place++)
                for (int frame = 0; frame < used; frame++)
                    out[(start + place) * frames + first + frame] = (float)sums[frame][place];
        }
    }
}
#endif
