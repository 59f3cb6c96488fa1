/* Calls that C carries out by itself: a loop in the form of NumPy's, over stacks of operands. */
#ifndef CAD_PROGRAM_NATIVE_H
#define CAD_PROGRAM_NATIVE_H

#include "kernels/stacks.h"

#include <stddef.h>

enum { CAD_MOST_ARGUMENTS = 8, CAD_MOST_CORE = 16, CAD_MOST_OUTER = 4 };

/* Arguments are operands and constants, then results. Operands stand in a row, as do results, each
 * of them in C order. The loop of a reduction takes its result for its first operand, too. */
typedef struct CadNative {
    CadStackLoop *loop;
    void *data;
    int n_arguments, n_results;
    const double *constants[CAD_MOST_ARGUMENTS]; /* NULL: an operand or a result, */
    size_t starts[CAD_MOST_ARGUMENTS];           /* which begins there in its row */
    size_t sizes[CAD_MOST_ARGUMENTS];            /* how many numbers it has */
    bool reduces;                                /* its one result begins as `start` everywhere */
    double start;
    int ndim; /* axes around the loop */
    ptrdiff_t lengths[CAD_MOST_OUTER];
    ptrdiff_t strides[CAD_MOST_OUTER][CAD_MOST_ARGUMENTS]; /* in bytes */
    ptrdiff_t dims[1 + CAD_MOST_CORE];
    ptrdiff_t steps[CAD_MOST_ARGUMENTS + CAD_MOST_CORE];
    bool may_fail;   /* a result that begins with nan stands for no result */
    bool is_bounded; /* an operand outside of its bounds is not for the loop */
    double low[CAD_MOST_ARGUMENTS], high[CAD_MOST_ARGUMENTS];
    bool is_elementwise; /* all operands have as many numbers as the result: points side by side
                          * are longer rows */
} CadNative;

/* Answers whether it was carried out; else it is for the owner of the call, who may raise. */
bool cad_native_run(const CadNative *call, const double *operands, double *results);

/* How many rows of the operand a call goes through, one by one, each with as many results: the
 * call may be carried out for some of them. 0: it is no such call. */
size_t cad_native_rows(const CadNative *call);

/* For so many rows. */
void cad_native_run_rows(const CadNative *call, size_t rows, const double *operands,
                         double *results);

/* The same for points whose numbers stand side by side. */
int cad_native_run_lanes(const CadNative *call, size_t lanes, const double *operands,
                         double *results);

#endif
