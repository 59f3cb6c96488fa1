/* What the rooms of operations (_apply.c, _table.c, _ufuncs.c, _methods.c, _ready.c) share among
 * themselves. */
#ifndef CADIFF_NUMBERS_APPLY_H
#define CADIFF_NUMBERS_APPLY_H

#include "numbers/numbers.h"

/* --- _apply.c --- */

/* cad_call for one argument, whose address the caller does not take: so it stays in a register. */
PyObject *cad_call1(CadOp op, PyObject *x);

/* --- _ready.c: filled at import, and never changed afterwards --- */

extern PyObject *cad_numpy_functions[CAD_OP_COUNT]; /* numpy.sin ...; NULL: NumPy has none */
extern PyObject *cad_own_ufuncs[CAD_OP_COUNT];      /* the same over objects and doubles */
extern PyObject *cad_op_of_function;                /* {numpy.sin: op code, ...} */
extern PyObject *cad_op_of_name;                    /* {"sin": op code, ...}, with aliases */
extern PyObject *cad_numpy;
extern PyObject *cad_numpy_sum; /* the commonest of functions, which are not looked up */
extern PyObject *cad_numpy_matmul;

/* --- _table.c: by op code; names and documentation are filled in at import --- */

extern PyMethodDef cad_table_functions[CAD_OP_COUNT];
extern PyMethodDef cad_table_methods[CAD_OP_COUNT];
extern PyMethodDef cad_whole_methods[]; /* what module math asks for */

/* --- _ufuncs.c --- */

/* The package's function for one of NumPy's (borrowed); NULL with an exception if there is none.
 */
PyObject *cad_find_function(const char *name);

PyObject *cad_make_ufunc(CadOp op);

/* Give the core NumPy's loops for the operations that are ufuncs of NumPy. */
int cad_borrow_loops(PyObject *numpy, PyObject *const *functions);

extern PyMethodDef cad_protocol_methods[];

/* --- _methods.c --- */

extern PyMethodDef cad_common_methods[];
extern PyGetSetDef cad_common_attributes[];

#endif
