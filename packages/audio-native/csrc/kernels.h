#ifndef AUDIOLOOM_KERNELS_H
#define AUDIOLOOM_KERNELS_H

#define N_FFT 2048
#define HOP 512
#define MAX_BANDS 256
#define MAX_FFT 8192 /* of any_geometry.c */
#define MAX_STEPS 16

/* Triangular filters: each bin lies in the falling half of one band and the rising half of the next.
 * The arrays have a place for each bin of a frame. */
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

/* Frames of any_geometry.c, with its constants in one precision. */
struct geometry {
    int n_fft;
    int hop;
    int steps;                       /* passes of the transform of n_fft / 2 complex points */
    int radices[MAX_STEPS];          /* 2, 3, 4 or 5 each */
    const void *window;              /* n_fft: Hann, periodic */
    const void *turn_re, *turn_im;   /* exp(-2 pi i k / (n_fft / 2)), n_fft / 2 of them */
    const void *split_re, *split_im; /* exp(-2 pi i k / n_fft), n_fft / 4 + 1 of them */
};

#endif
