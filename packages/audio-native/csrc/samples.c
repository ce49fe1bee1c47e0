/* Codes of recordings to samples.
 *
 * Plain loops, which compilers vectorise; every operation is exact.
 */
#include <stdint.h>

#include "kernels.h"

#ifdef SIGNAL
/* One signal of interleaved frames: a channel, or (number -1) the mean of both of two. The codes are
 * 16-bit samples, or without those bytes, whose samples are in the table. */
void SIGNAL(const int16_t *codes, const uint8_t *bytes, const float *table, long frames,
            int channels, int number, float *out)
{
    const long first = number < 0 ? 0 : number;
    if (codes && number < 0)
        for (long n = 0; n < frames; n++)
            out[n] = (float)(codes[2 * n] + codes[2 * n + 1]) * (1.0f / 65536);
    else if (codes && channels == 1)
        for (long n = 0; n < frames; n++)
            out[n] = (float)codes[n] * (1.0f / 32768);
    else if (codes)
        for (long n = 0; n < frames; n++)
            out[n] = (float)codes[first + n * channels] * (1.0f / 32768);
    else if (number < 0)
        for (long n = 0; n < frames; n++)
            out[n] = (table[bytes[2 * n]] + table[bytes[2 * n + 1]]) * 0.5f;
    else
        for (long n = 0; n < frames; n++)
            out[n] = table[bytes[first + n * channels]];
}
#endif

#ifdef PEAK
/* The bits of the largest magnitude: as numbers those of infinity are above those of all finite
 * ones, and those of NaN above infinity's. */
uint32_t PEAK(const uint32_t *samples, long count)
{
    uint32_t largest = 0;
    for (long n = 0; n < count; n++) {
        const uint32_t magnitude = samples[n] & 0x7fffffffu;
        largest = magnitude > largest ? magnitude : largest;
    }
    return largest;
}
#endif
