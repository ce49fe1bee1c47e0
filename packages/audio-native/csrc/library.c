/* What the library offers: the kernels, by instruction set (4: x86-64-v4, 3: x86-64-v3). */
#include <cpuid.h>
#include <stdint.h>

#include "kernels.h"

#define KERNELS(level)                                                                             \
    void neighbours_##level(const float *, long, long, const struct filters *, float *);           \
    void chosen_##level(const float *, const long *, long, const struct filters *, float *);       \
    void any_neighbours_##level(const float *, long, const struct geometry *,                      \
                                const struct filters *, float *);                                  \
    void any_chosen_##level(const float *, const long *, long, const struct geometry *,            \
                            const struct filters *, float *);                                      \
    long delicate_##level(const float *, long, const struct tail *, float, float, long *);         \
    void cepstra_##level(const float *, long, const struct tail *, float, float *);                \
    void signal_##level(const int16_t *, const uint8_t *, const float *, long, int, int, float *); \
    uint32_t peak_##level(const uint32_t *, long);
KERNELS(v3)
KERNELS(v4)

#define PUBLIC __attribute__((visibility("default")))

#define HAS(value, bits) (((value) & (bits)) == (bits))
#define LZCNT (1u << 5)

/* The highest level that processor and operating system support and that is compiled here, or 0.
 * Asked of the processor itself: __builtin_cpu_supports answers 0 to everything under Zig. */
PUBLIC int audioloom_level(void)
{
    unsigned a, b, c, d, more, kept, rest;
    if (!__get_cpuid(1, &a, &b, &c, &d)
        || !HAS(c, bit_FMA | bit_MOVBE | bit_OSXSAVE | bit_AVX | bit_F16C))
        return 0;
    /* Which registers the operating system keeps for each thread: bits 1, 2 up to 32 bytes wide,
     * bits 5, 6, 7 of AVX-512. */
    __asm__("xgetbv" : "=a"(kept), "=d"(rest) : "c"(0));
    if (!HAS(kept, 0x06u) || !__get_cpuid(0x80000001u, &a, &b, &more, &d) || !HAS(more, LZCNT)
        || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !HAS(b, bit_AVX2 | bit_BMI | bit_BMI2))
        return 0;
    const unsigned wide = bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ | bit_AVX512VL;
    return HAS(b, wide) && HAS(kept, 0xe6u) ? 4 : 3;
}

PUBLIC void audioloom_powers(int level, const float *samples, long count, long frames,
                             const struct filters *filters, float *mel)
{
    (level == 4 ? neighbours_v4 : neighbours_v3)(samples, count, frames, filters, mel);
}

PUBLIC void audioloom_powers_again(int level, const float *samples, const long *numbers,
                                   long frames, const struct filters *filters, float *mel)
{
    (level == 4 ? chosen_v4 : chosen_v3)(samples, numbers, frames, filters, mel);
}

PUBLIC void audioloom_any_powers(int level, const float *samples, long frames,
                                 const struct geometry *shape, const struct filters *filters,
                                 float *mel)
{
    (level == 4 ? any_neighbours_v4 : any_neighbours_v3)(samples, frames, shape, filters, mel);
}

PUBLIC void audioloom_any_powers_again(int level, const float *samples, const long *numbers,
                                       long frames, const struct geometry *shape,
                                       const struct filters *filters, float *mel)
{
    (level == 4 ? any_chosen_v4 : any_chosen_v3)(samples, numbers, frames, shape, filters, mel);
}

PUBLIC long audioloom_delicate(int level, const float *mel, long frames, const struct tail *tail,
                               float floor, float limit, long *numbers)
{
    return (level == 4 ? delicate_v4 : delicate_v3)(mel, frames, tail, floor, limit, numbers);
}

PUBLIC void audioloom_cepstra(int level, const float *mel, long frames, const struct tail *tail,
                              float floor, float *out)
{
    (level == 4 ? cepstra_v4 : cepstra_v3)(mel, frames, tail, floor, out);
}

PUBLIC void audioloom_signal(int level, const int16_t *codes, const uint8_t *bytes,
                             const float *table, long frames, int channels, int number, float *out)
{
    (level == 4 ? signal_v4 : signal_v3)(codes, bytes, table, frames, channels, number, out);
}

PUBLIC uint32_t audioloom_peak(int level, const uint32_t *samples, long count)
{
    return (level == 4 ? peak_v4 : peak_v3)(samples, count);
}
