#ifndef AUDIOLOOM_KERNELS_H
#define AUDIOLOOM_KERNELS_H

#define N_FFT 2048
#define HOP 512
#define MAX_BANDS 256

/* Triangular filters: each bin lies in the falling half of one band and the rising half of the next.
 * The arrays have a place for each of the N_FFT / 2 + 1 bins. */
struct filters {
    int bands;
    const int *falling;          /* number of the band that falls there, plus one; 0: none */
    const float *falling_weight;
    const float *rising_weight;  /* in the band after that */
};

/* What comes after the mel powers. */
struct tail {
    int bands;
    int coefficients;
    int width;               /* half the coefficients, rounded up to a multiple of 24 */
    const float *heights;    /* bands: the largest weight of each filter */
    const float *by_height;  /* bands: one divided by that */
    const float *transform;  /* (2, (bands + 1) / 2, width): the even columns of the cosine
                              * transform, then the odd ones; of the rows, the first half */
};

#endif
