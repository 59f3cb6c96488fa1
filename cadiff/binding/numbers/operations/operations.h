/* Operations on any numbers. What arrays and Duals do stands behind a table of each type, which is
 * filled where the module is made ready: these files know none that computes with them. */
#ifndef CADIFF_OPERATIONS_H
#define CADIFF_OPERATIONS_H

#include "numbers/objects/types.h"

/* --- which function is which (functions.c) --- */

/* Where NumPy's protocols go for functions, and for what is no plain call of an operation. */
int cad_register(PyObject *functions, PyObject *load, PyObject *hook);

/* What the package has in the place of a function of NumPy's (borrowed); NULL if there is nothing,
 * or with an exception. */
CadPointer *cad_function_in_place_of(PyObject *function);

/* The package's function for one of NumPy's (borrowed); NULL with an exception if there is none.
 */
CadPointer *cad_find_function(const char *name);

/* The operation that a ufunc stands for; -2 if there is none, -1 with an exception. */
int cad_find_op(PyObject *ufunc);

/* Whether a call is that of numpy.sum with nothing but an array Var: the commonest one. */
bool cad_is_sum_of_all(PyObject *function, PyObject *x);

/* --- recordings that are to be replayed (recording.c) --- */

/* Whether this thread records for replays that may choose anew, and compute by other steps: those
 * that are to be exact take the steps that are taken outside of recordings. */
bool cad_chooses_anew(void);

/* The tape with guards that a number belongs to whose value a replay may find changed; or NULL. */
CadTape *cad_guarded_tape(PyObject *object);

/* The user's program reads a value by `what`: an obstacle, if a replay would not read it again. */
void cad_read_noted(PyObject *object, const char *what);

/* It reads a derivative, or computes one in place: -1 with TypeError if a replay would not, since
 * running it a second time would count it twice. */
int cad_read_openly(PyObject *object, const char *what);

/* What a number looks like may decide something: that is an obstacle. */
void cad_note_text(PyObject *number);

/* Its `repr` is made; answers whether in a recording that is to be replayed, where it stands for a
 * plain number, so that it should look like one. */
int cad_note_repr(PyObject *number);

/* The package does, for the reason `what`: then the recording cannot be replayed. */
void cad_read_quietly(PyObject *object, const char *what);

/* Masks: what stands for one among the operands of an operation is its `number` besides numbers
 * with derivatives, else its values. */
void cad_register_masks(PyObject *type);
void cad_register_scalars(PyObject *type); /* what stands for a single number of Python's */
bool cad_is_mask(PyObject *object);
int cad_has_masks(PyObject *key);

/* Refuse to assign to lent rows, or to the array that they were taken from: -1 with TypeError. */
int cad_check_writable(PyObject *target);

/* What x[key] is where masks among the key are indices, which a replay computes anew; None if the
 * masks have to be read, or there is none. A new reference. */
PyObject *cad_taken_by_masks(PyObject *x, PyObject *key);

/* A key with plain arrays in the place of masks, which are read. A new reference. */
PyObject *cad_key_without_masks(PyObject *key);

/* So many more recordings, or fewer, have masks that may index: as long as there are any, NumPy's
 * own arrays are indexed by them in this way, too. NumPy asks no index how it wants to be used. */
void cad_index_arrays_by_masks(int recordings);

/* In a process that was forked, where those of one tape alone go on. */
void cad_forget_other_recordings(const CadTape *tape);

/* --- operations (apply.c) --- */

/* Apply an operation to as many operands as it has. NotImplemented if one of them is foreign. */
PyObject *cad_apply(CadOp op, PyObject *const *operands);

/* Apply an operation, in a way of its own, to operands once each is what `convert` makes of it. */
PyObject *cad_apply_converted(CadOp op, PyObject *const *operands, PyObject *convert(PyObject *),
                              PyObject *apply(CadOp op, PyObject *const *operands));

static inline PyObject *cad_apply1(CadOp op, PyObject *x) {
    return cad_apply(op, &x);
}

static inline PyObject *cad_apply2(CadOp op, PyObject *x, PyObject *y) {
    PyObject *const operands[2] = {x, y};
    return cad_apply(op, operands);
}

/* Call the package's function for an operation. */
PyObject *cad_call(CadOp op, PyObject *const *args, Py_ssize_t n);

/* cad_call for one argument, whose address the caller does not take: so it stays in a register. */
PyObject *cad_call1(CadOp op, PyObject *x);

/* An object array of the scalars of an array Var or Dual; anything else as np.asarray has it. */
PyObject *cad_elements(PyObject *object);

/* Whether something stands for an array: a list, a tuple, a table that has
 * to_numpy(), or an array of another library, which has __dlpack__; whether
 * it neither does nor is a number or an array, so that it may know better. */
bool cad_is_listed(PyObject *object);
int cad_is_foreign(PyObject *object);

/* The array that it stands for: of objects, if there are numbers with derivatives in it. */
PyObject *cad_listed_array(PyObject *listed);

/* Lists, tables and arrays of objects as arrays of numbers, anything else as it is. */
PyObject *cad_numbers_of(PyObject *value);

/* A number as operations on single ones take it: of a view of no axes, what stands there now. */
PyObject *cad_single(PyObject *number);

/* The values of a number or array, without derivatives. */
PyObject *cad_plain_value(PyObject *object);

/* --- precision (precision.c) --- */

/* A number or array, with derivatives or without, as one of float32, or of float64; itself, if it
 * is one. */
PyObject *cad_narrowed(PyObject *number);
PyObject *cad_widened(PyObject *number);

/* --- comparisons (compare.c) --- */

PyObject *cad_richcompare(PyObject *left, PyObject *right, int how);
PyObject *cad_compare(PyObject *left, PyObject *right, int how); /* a guard, and no mask */

/* The operation of the table that a comparison is: whether it holds, as numbers. */
PyObject *cad_outcome(PyObject *left, PyObject *right, int how);

/* Whether answers about single numbers are NumPy's, too, which masks may stand for; y += v is
 * y = y + v there, and in modules that have names of a package, of NumPy's arrays once it was
 * asked for. */
int cad_answers_as_numpy(void);
int cad_binds_anew(void);
void cad_have_arrays_bound_anew(const char *package);

int cad_contains(PyObject *array, PyObject *item);

/* Record `number != 0`, which a replay has to come out as now. */
int cad_guard_truth(PyObject *number);

/* --- partials over objects (formulas.c) --- */

/* The partial of an operation by operand `which`, over any numbers. */
PyObject *cad_object_partial(CadOp op, int which, PyObject *x, PyObject *y, PyObject *z,
                             PyObject *v);

#endif
