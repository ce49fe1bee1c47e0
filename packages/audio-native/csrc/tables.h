#ifndef AUDIOLOOM_TABLES_H
#define AUDIOLOOM_TABLES_H

#include "kernels.h"

#define FIRST 32 /* N_FFT = FIRST * SECOND */
#define SECOND 64
#define ROWS (FIRST / 2 + 1)

/* The constants of the transform in one precision, of which REAL and TABLES are the names. */
extern struct tables {
    REAL window[N_FFT];                                    /* Hann, periodic */
    REAL cos_first[FIRST], sin_first[FIRST];               /* exp(-2 pi i k / FIRST) */
    REAL cos_second[8][8], sin_second[8][8];               /* exp(-2 pi i b c / SECOND) */
    REAL cos_twist[SECOND][ROWS], sin_twist[SECOND][ROWS]; /* exp(-2 pi i n k / N_FFT) */
} TABLES;

#endif
