/* What is put into the module and into both types: functions, methods, NumPy's protocols. */
#ifndef CADIFF_MODULE_H
#define CADIFF_MODULE_H

#include "numbers/objects/types.h"

/* --- set-up (ready.c) --- */

/* Make the types ready and fill the module with them, the functions and the errors. */
int cad_numbers_ready(PyObject *module);

/* --- by op code (table.c): names and documentation are filled in at import --- */

extern PyMethodDef cad_table_functions[CAD_OP_COUNT];
extern PyMethodDef cad_table_methods[CAD_OP_COUNT];
extern PyMethodDef cad_whole_methods[]; /* what module math asks for */

/* --- arrays of objects (objects.c) --- */

/* Raise if there is a complex number with a derivative among some elements. */
int cad_check_elements(const char *place, npy_intp n, npy_intp step);

/* Have NumPy's operations between objects do so. */
int cad_check_loops_over_objects(PyObject *numpy);

/* --- NumPy's protocols and ufuncs (ufuncs.c) --- */

PyObject *cad_make_ufunc(CadOp op);

/* The loop of a ufunc that takes doubles and gives doubles; answers whether it has one. */
bool cad_loop_over_doubles(PyObject *function, int n_operands, int n_results,
                           PyUFuncGenericFunction *loop, void **data);

/* The same of one that takes or gives complex numbers: of argument k if the k-th bit is set. */
bool cad_loop_over_numbers(PyObject *function, int n_operands, int n_results, unsigned complexes,
                           PyUFuncGenericFunction *loop, void **data);

/* The loop of a ufunc for those of its types that stand at an index; answers whether there is one.
 */
bool cad_loop_of_ufunc(PyObject *function, int index, PyUFuncGenericFunction *loop, void **data);

/* Give the core NumPy's loops for the operations that are ufuncs of NumPy. */
void cad_borrow_loops(PyObject *const *functions);

extern PyMethodDef cad_protocol_methods[];

/* --- functions of SciPy's kind (elementwise.c) --- */

/* The ufunc of one of the core's elementwise functions, or None; it asks the ufuncs that are lent,
 * which belong to these names. */
PyObject *cad_make_elementwise(const char *name, PyObject *lent);
PyObject *cad_names_of_lent(void);

/* --- methods and attributes of both types (methods.c) --- */

/* The index that the arguments of item() mean: none, the place among all elements, an index for
 * each axis, or a tuple of these. Errors are NumPy's. */
PyObject *cad_index_of_item(PyObject *array, PyObject *args);

/* What an array says of its class: that it is an ndarray, to the polynomials of NumPy. These are
 * not dispatched, and take what is none for one number, by which tables of them have other values.
 */
PyObject *cad_class_of(PyObject *self);

extern PyMethodDef cad_common_methods[];
extern PyMethodDef cad_array_methods[]; /* of arrays alone */
extern PyGetSetDef cad_common_attributes[];

#endif
