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
    int width;               /* coefficients, rounded up to a multiple of 8 */
    const float *heights;    /* bands: the largest weight of each filter */
    const float *by_height;  /* bands: one divided by that */
    const double *transform; /* (bands, width): the cosine transform */
};

#endif
