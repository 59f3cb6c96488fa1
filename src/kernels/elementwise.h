/* Elementwise functions of SciPy's kind that are no rows of the table: ufuncs are made of them,
 * whose loops programs call.
 *
 * There are two sorts. Functions that occur in derivatives and that SciPy lacks; and functions of
 * SciPy's whose values are wrong in places, which are SciPy's elsewhere. They call SciPy's own
 * loops, lent to them. */
#ifndef CAD_KERNELS_ELEMENTWISE_H
#define CAD_KERNELS_ELEMENTWISE_H

#include "kernels/lent.h"

typedef struct CadElementwise {
    const char *name;
    int arity;
    CadOfNumbers *value;
    int (*is_wrong)(const double *x); /* where SciPy's value is; NULL: SciPy has none */
    CadLentCode own;                  /* SciPy's, if it has one */
} CadElementwise;

/* All of them; behind the last one a name is NULL. */
extern const CadElementwise cad_elementwise[];

/* What a loop is told. */
typedef struct CadElementwiseCall {
    const CadElementwise *function;
    CadLent lent[CAD_LENT_COUNT];
} CadElementwiseCall;

/* The loop, in the form of NumPy's; `call` is a CadElementwiseCall. */
void cad_run_elementwise(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                         void *call);

#endif
