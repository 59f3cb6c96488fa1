/* A program as a function of C that others call, in any thread and without Python. */
#ifndef CAD_PROGRAM_CALLBACK_H
#define CAD_PROGRAM_CALLBACK_H

#include "program/program.h"

#include <stdint.h>

/* A workspace that no call uses, or NULL; threads do not write to one line of the cache. */
typedef struct CadSpareRoom {
    double *room;
    char apart[64 - sizeof(double *)];
} CadSpareRoom;

enum { CAD_SPARE_ROOMS = 16 };

/* A program, the numbers in a workspace for it, and the workspaces that there are. */
typedef struct CadCalled {
    const CadProgram *program;
    size_t n_room;
    CadSpareRoom spare[CAD_SPARE_ROOMS];
} CadCalled;

/* What the owner sets: the programs, whose results are `n_values` numbers, and behind these a
 * gradient. `forget` has to forget what a call of the owner's has raised. */
typedef struct CadCallback {
    CadCalled value, with_gradient; /* its program may be NULL */
    size_t n_values;
    void (*forget)(void);
} CadCallback;

/* What is answered beside 0 and the number of a guard that does not hold, counted from 1. */
enum { CAD_CALL_NO_MEMORY = -1, CAD_CALL_OTHER_SIZE = -2, CAD_CALL_NO_RESULT = -3 };

/* Compute what `data`, a CadCallback, says for n numbers. Where `gradient` is NULL the values are
 * computed alone; `value` may be NULL, too. Where x is nothing is to be written. Unless 0 is
 * answered nothing is. */
int cad_callback_run(size_t n, const double *x, double *value, double *gradient, void *data);

/* The one value, or nan where there is none: as scipy.integrate calls functions; */
double cad_callback_integrand(int n, double *x, void *data);

/* and scipy.ndimage, which is answered 0 where there is none. */
int cad_callback_filter(double *x, intptr_t n, double *value, void *data);

/* Give its workspaces back. No call may be under way. */
void cad_callback_clear(CadCallback *callback);

#endif
