/* What a Var does: its values and parts, sweeps from it, its attributes and operators. How arrays
 * of them are computed with is not known here. */
#ifndef CADIFF_VAR_H
#define CADIFF_VAR_H

#include "numbers/objects/types.h"

/* --- values and parts (contents.c) --- */

/* NumPy's own array over a buffer of the tape, at the place of an array Var. It must not outlive
 * the caller's next touch of the tape: the buffer may move. */
PyObject *cad_var_transient(const CadVar *var, double *buffer, int flags);

/* A copy of the numbers that a Var views, from a buffer that begins with slot `base`. */
PyObject *cad_var_transient_copy(const CadVar *var, double *buffer, size_t base);

/* Whether an array lies in the values of a tape. */
bool cad_is_in_values(const CadTape *tape, PyObject *array);

/* The values of an array Var as a fresh float64 array. */
PyObject *cad_var_values(PyObject *array);

/* An object array of scalar Vars, of the Var's shape. */
PyObject *cad_var_elements(PyObject *array);

/* The element of an array Var at a slot, as a scalar of its own. */
PyObject *cad_var_pick(CadVar *var, CadSlot slot);

/* The part of a Var that an array over its values, or a view of one, covers. */
PyObject *cad_var_part(CadVar *var, PyObject *array);

/* An array Var with the view of another one, at another slot. */
PyObject *cad_var_like(const CadVar *var, CadSlot slot);

/* An array Var, fresh, that from now on is an input: it is not assigned to. Returns it. */
PyObject *cad_var_as_input(PyObject *var);

static inline void cad_var_freeze(CadVar *var) {
    var->view->flags |= CAD_FROZEN;
}

/* The slots of all elements, as an int64 array of the Var's shape. */
PyObject *cad_var_slots(const CadVar *var);

/* The offsets of all elements from slot `low`, in no order: what NumPy indexes. */
PyObject *cad_var_offsets(const CadVar *var, size_t low);

/* --- rules and sweeps (rules.c) --- */

/* Record a rule: `number` is that under which the binding knows it. `operands` are Vars, `values`
 * plain results, a list of floats and arrays; answers a list of Vars. */
PyObject *cad_record_rule(CadTape *tape, size_t number, PyObject *operands, PyObject *values);

/* Sweep back over entries [begin, end): the one way into cad_sweep_reverse. 0, or -1 with an
 * exception if a rule raises one. */
int cad_sweep(CadTape *tape, size_t begin, size_t end, size_t transient, bool accumulate);

/* --- derivatives (grad.c) --- */

/* The accumulated gradients, or adjoints, of a Var, as .grad. */
PyObject *cad_var_get_grad(CadVar *var, void *closure);

/* Add a plain number or array to the adjoints of a Var; read them: a float or a fresh array. */
int cad_var_seed(CadVar *var, PyObject *seed);
PyObject *cad_var_adjoint(CadVar *var);

extern PyMethodDef cad_var_methods[];

/* --- text, attributes, making (members.c) --- */

PyObject *cad_var_repr(CadVar *var);
PyObject *cad_var_str(CadVar *var);
PyObject *cad_var_make(PyTypeObject *type, PyObject *args, PyObject *kwargs);
extern PyGetSetDef cad_var_attributes[];

/* --- operators (operators.c) --- */

/* Append an operation on a scalar Var and a constant, which is the operand that `passive` names.
 */
PyObject *cad_record_constant(CadOp op, CadVar *x, double constant, int passive, double value);

extern PyNumberMethods cad_var_number;

#endif
