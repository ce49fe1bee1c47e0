/* The constants of the transform, filled in when the library is loaded: so this file is compiled for
 * every processor, as the kernels must not be touched before one has been asked what it can do. */
#include <math.h>

#include "tables.h"

struct tables TABLES;

__attribute__((constructor)) static void fill(void)
{
    const double turn = 2 * 3.14159265358979323846;
    for (int n = 0; n < N_FFT; n++)
        TABLES.window[n] = (REAL)(0.5 - 0.5 * cos(turn * n / N_FFT));
    for (int k = 0; k < FIRST; k++) {
        TABLES.cos_first[k] = (REAL)cos(turn * k / FIRST);
        TABLES.sin_first[k] = (REAL)-sin(turn * k / FIRST);
    }
    for (int b = 0; b < 8; b++)
        for (int c = 0; c < 8; c++) {
            TABLES.cos_second[b][c] = (REAL)cos(turn * b * c / SECOND);
            TABLES.sin_second[b][c] = (REAL)-sin(turn * b * c / SECOND);
        }
    for (int n = 0; n < SECOND; n++)
        for (int k = 0; k < ROWS; k++) {
            TABLES.cos_twist[n][k] = (REAL)cos(turn * n * k / N_FFT);
            TABLES.sin_twist[n][k] = (REAL)-sin(turn * n * k / N_FFT);
        }
}
