/* Var and Dual as C types: what the rooms in C and the binding share. What only the rooms of one
 * subject need stands in a header of theirs: _var.h, _dual.h, _array.h, _apply.h.
 *
 * These files know Python and the tape, and no formula: values and partials are those of
 * src/ops.h. Everything here runs under the GIL. */
#ifndef CADIFF_NUMBERS_H
#define CADIFF_NUMBERS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifdef Py_GIL_DISABLED
#error "cadiff needs the GIL: build it with a regular, not a free-threaded, Python"
#endif

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL cadiff_ARRAY_API
#define PY_UFUNC_UNIQUE_SYMBOL cadiff_UFUNC_API
#ifndef CADIFF_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

#include "sweeps/sweeps.h"

/* Answers -1 with RecursionError if the C stack is nearly used up. */
static inline int cad_enter_recursion(const char *where) {
    return Py_EnterRecursiveCall(where) ? -1 : 0;
}

/* --- errors (_errors.c) --- */

extern PyObject *cad_stale_error;

/* Set MemoryError or OverflowError for a status that is not CAD_OK; answers -1. */
int cad_raise_status(CadStatus status);
int cad_raise_stale(void);
int cad_raise_threads(void); /* Vars of two threads meet */

/* Raise TypeError for a Var or Dual where a plain number is needed; answers NULL. */
PyObject *cad_refuse_conversion(PyObject *self);

/* Leave an exception set that was caught as an object. */
void cad_restore_exception(PyObject *error);

/* --- Var (_var*.c) --- */

typedef enum CadKind {
    CAD_SCALAR,  /* a number on the tape */
    CAD_ARRAY,   /* a view over numbers on the tape */
    CAD_PASSIVE, /* a number that carries no derivative: on no tape */
    CAD_STALE,   /* its part of the tape was rewound: its values are left */
} CadKind;

/* Shape and strides, both counted in numbers. The view of a value is the view of its adjoint. */
typedef struct CadView {
    double *kept; /* the values, in order, once the Var is stale */
    int ndim;
    uint32_t flags;
    npy_intp size;
    npy_intp shape_and_strides[];
} CadView;

enum {
    CAD_INPUT = 1,    /* single numbers share their slots, as long as it is not assigned to */
    CAD_PICKED = 2,   /* a single number was taken from it */
    CAD_CONSTANT = 4, /* nothing that carries a derivative was ever written to it */
    CAD_LEAF = 8,     /* made by Var(...): not assigned to */
    CAD_FROZEN = 16,  /* a view that NumPy makes for reading only */
};

#define CAD_SHAPE(view) ((view)->shape_and_strides)
#define CAD_STRIDES(view) ((view)->shape_and_strides + (view)->ndim)

typedef struct CadVar {
    PyObject_HEAD
    union {
        double value;  /* of a scalar, kept here as well as on the tape */
        CadView *view; /* of an array; owned */
    };
    CadTape *tape; /* NULL if passive or stale */
    CadSlot slot;  /* of the (first) number */
    uint32_t kind;
} CadVar;

/* To NumPy whatever has sequence slots is a sequence, even without a length. So that a scalar is
 * none, arrays are of a type of their own, derived from Var. */
extern PyTypeObject CadVar_Type;
extern PyTypeObject CadVarArray_Type;
extern PyObject *cad_dtype; /* what .dtype answers: _dtype.float64 */

#define CAD_VAR(object) ((CadVar *)(object))
#define CAD_IS_TYPE(object, type) Py_IS_TYPE((PyObject *)(object), &type)
#define CAD_IS_VAR(object)                                                                        \
    (CAD_IS_TYPE(object, CadVar_Type) || CAD_IS_TYPE(object, CadVarArray_Type))
#define CAD_IS_VAR_ARRAY(object) CAD_IS_TYPE(object, CadVarArray_Type)
#define CAD_IS_SCALAR(object)                                                                     \
    (CAD_IS_TYPE(object, CadVar_Type) && CAD_VAR(object)->kind == CAD_SCALAR)

/* Numbers are neither known to the cyclic garbage collector (they refer to no object) nor to
 * malloc: they live in slabs, so that the tape can find all that are alive, and are recycled
 * through a list of free ones, linked by `tape`. */
#ifdef __GNUC__
__attribute__((visibility("hidden"))) /* reached at once, not through a table of addresses */
#endif
extern CadVar *cad_free_vars;
int cad_var_refill(void); /* 0, or -1 with MemoryError */

static inline CadVar *cad_var_allocate(void) {
    if (cad_free_vars == NULL && cad_var_refill() < 0) {
        return NULL;
    }
    CadVar *var = cad_free_vars;
    cad_free_vars = (CadVar *)var->tape;
    Py_SET_REFCNT(var, 1);
    return var;
}

/* A handle of a number on the tape. */
static inline PyObject *cad_var_new(CadTape *tape, CadSlot slot, double value) {
    CadVar *var = cad_var_allocate();
    if (var != NULL) {
        var->value = value;
        var->tape = tape;
        var->slot = slot;
        var->kind = CAD_SCALAR;
        if (slot >= tape->mark_slots) {
            tape->handles++;
        } else {
            cad_tape_count_handle(tape, slot, 1);
        }
    }
    return (PyObject *)var;
}

PyObject *cad_var_passive(double value);

/* A handle of `ndim` axes; strides NULL: contiguous. A scalar for ndim 0. */
PyObject *cad_var_view(CadTape *tape, CadSlot slot, int ndim, const npy_intp *shape,
                       const npy_intp *strides, uint32_t flags);

/* NumPy's own array over a buffer of the tape, at the place of an array Var. It must not outlive
 * the caller's next touch of the tape: the buffer may move. */
PyObject *cad_var_transient(const CadVar *var, double *buffer, int flags);

/* The part of a Var that such an array over its values, or a view of one, covers. */
PyObject *cad_var_part(CadVar *var, PyObject *array);

/* Whether an array lies in the values of a tape. */
int cad_is_in_values(const CadTape *tape, PyObject *array);

/* The lowest and the highest slot of a Var. */
void cad_var_bounds(const CadVar *var, size_t *low, size_t *high);

/* The element of an array Var at a slot, as a scalar of its own. */
PyObject *cad_var_pick(CadVar *var, CadSlot slot);

/* The values of an array Var as a fresh float64 array, its accumulated gradients or adjoints. */
PyObject *cad_var_values(CadVar *var);
PyObject *cad_var_grad(CadVar *var);

/* An object array of scalar Vars, of the Var's shape. */
PyObject *cad_var_elements(CadVar *var);

/* An array Var, fresh, that from now on is an input: it is not assigned to. Returns it. */
PyObject *cad_var_as_input(PyObject *var);

static inline void cad_var_freeze(CadVar *var) {
    var->view->flags |= CAD_FROZEN;
}

/* The same view at another slot. */
PyObject *cad_var_like(const CadVar *var, CadSlot slot);

/* Whether the elements of an array Var stand side by side, in C order. */
int cad_var_is_contiguous(const CadVar *var);

/* How many axes a key adds to a single number; -1 if it indexes anything. */
int cad_new_axes(PyObject *key);

/* A single number as an array of one with so many axes (by the binding). */
PyObject *cad_with_axes(PyObject *number, int axes);

/* Add a plain number or array to the adjoints of a Var; read them: a float or a fresh array. */
int cad_var_seed(CadVar *var, PyObject *seed);
PyObject *cad_var_adjoint(CadVar *var);

/* The lengths of axes as a tuple. */
PyObject *cad_shape_tuple(int ndim, const npy_intp *shape);

/* Append an operation on two scalar Vars of one tape, or on a Var and a constant; `passive` names
 * the operand that is the constant. */
PyObject *cad_record2(CadOp op, CadVar *x, CadVar *y, double value);
PyObject *cad_record_constant(CadOp op, CadVar *x, double constant, int passive, double value);

/* The tape of this thread (borrowed), NULL with an exception. */
CadTape *cad_current_tape(void);

/* Let a tape reclaim what it has to before slots are taken down, and no more until unpinned: 0, or
 * -1 with an exception. */
static inline int cad_pin(CadTape *tape) {
    const CadStatus status = cad_tape_ensure(tape);
    if (status != CAD_OK) {
        return cad_raise_status(status);
    }
    cad_tape_pin(tape);
    return 0;
}

/* Forget what came after the last mark; numbers that still refer to it become stale. */
void cad_rewind(CadTape *tape);

/* --- Dual (_dual*.c) --- */

typedef enum CadDualKind {
    CAD_DUAL_FLOAT,  /* a float and a float */
    CAD_DUAL_LANES,  /* a float and several floats, one for each direction */
    CAD_DUAL_OBJECT, /* components that are numbers themselves; several directions: a tuple */
    CAD_DUAL_ARRAY,  /* two float64 arrays; the tangent may have one axis more */
} CadDualKind;

/* The tag tells perturbations apart. Duals of one tag multiply as dual numbers; to a Dual of a
 * higher tag, one of a lower tag is a constant that happens to have parts of its own. */
typedef uint64_t CadTag;

typedef struct CadDual {
    PyObject_HEAD
    union {
        double primal;
        PyObject *primal_object;
    };
    union {
        double tangent;
        double *lanes; /* owned */
        PyObject *tangent_object;
    };
    CadTag tag;
    uint32_t n_lanes;
    uint32_t kind;
} CadDual;

extern PyTypeObject CadDual_Type;
extern PyTypeObject CadDualArray_Type; /* of kind CAD_DUAL_ARRAY, and no other */

#define CAD_DUAL(object) ((CadDual *)(object))
#define CAD_IS_DUAL(object)                                                                       \
    (CAD_IS_TYPE(object, CadDual_Type) || CAD_IS_TYPE(object, CadDualArray_Type))

PyObject *cad_dual_new(double primal, double tangent, CadTag tag);

/* From any components; a Dual of floats where they are floats. Tangent: a number, or a tuple of
 * numbers (lanes), or for an array primal an array. */
PyObject *cad_dual_from(PyObject *primal, PyObject *tangent, CadTag tag);

/* The number of axes of an array, with or without derivatives; 0 for anything else. */
int cad_ndim(PyObject *object);

/* An array of objects as an array of numbers (by the binding). */
PyObject *cad_gather_numbers(PyObject *array);

/* A number or array as plain, where nothing in it carries a derivative (by the binding). */
PyObject *cad_settled(PyObject *atom);

/* Lists and arrays of objects as arrays of numbers, anything else as it is. */
PyObject *cad_numbers_of(PyObject *value);

/* An array as a Var, or as a Dual of the tag of another one, without derivatives of its own (by
 * the binding). */
PyObject *cad_promote(PyObject *array, PyObject *other);

PyObject *cad_dual_primal(CadDual *dual);
PyObject *cad_dual_tangent(CadDual *dual);
PyObject *cad_dual_elements(CadDual *dual);

/* A tag above all that are in use. */
CadTag cad_fresh_tag(void);

/* Set by the binding while Duals are to be looked at: 0, or -1 with an exception. */
extern int (*cad_dual_hook)(CadOp op, PyObject *const *operands, PyObject *dual);

static inline void set_dual_hook(int (*hook)(CadOp, PyObject *const *, PyObject *)) {
    cad_dual_hook = hook;
}

/* A Dual that an operation made (or NULL), once it has been looked at. */
PyObject *cad_dual_show(CadOp op, PyObject *x, PyObject *y, PyObject *dual);

static inline PyObject *cad_dual_seen(CadOp op, PyObject *x, PyObject *y, PyObject *dual) {
    return cad_dual_hook == NULL ? dual : cad_dual_show(op, x, y, dual);
}

/* An operation at least one of whose operands is a Dual, all others scalars. */
PyObject *cad_dual_apply(CadOp op, PyObject *const *operands);

/* The partial of an operation by operand `which`, over any numbers (_rules.c). */
PyObject *cad_object_partial(CadOp op, int which, PyObject *x, PyObject *y, PyObject *z,
                             PyObject *v);

/* The operation whose partial is being computed, for error messages; or -1. */
extern int cad_partial_of;

/* --- arrays on the tape (_array*.c) --- */

/* An operation on arrays and single numbers: Vars, at least one of them, and plain ones. NULL
 * without an exception if an operand is something else. */
PyObject *cad_array_apply(CadOp op, PyObject *const *operands, int n);

/* The same for `left @ right`. */
PyObject *cad_array_matmul(PyObject *left, PyObject *right);

/* The sum over axes (None: all; an int; a tuple of them). */
PyObject *cad_array_sum(CadVar *var, PyObject *axis, int keepdims);

/* var[key] where that is no view, a copy, var[key] = value. */
PyObject *cad_array_gather(CadVar *var, PyObject *key);
PyObject *cad_array_copy(CadVar *var);
int cad_array_assign(CadVar *var, PyObject *key, PyObject *value);

/* target += value, of the same shape; on the tape, in place. Where several elements of the target
 * are one number, it gets the sum. Former values are not kept. */
int cad_array_accumulate(CadVar *target, PyObject *value);

/* The same for target[indices], in which an element may occur several times: a 1-D target, int64
 * indices of one axis. */
int cad_array_add_at(CadVar *target, PyObject *indices, PyObject *value);

/* The slots of all elements, as an int64 array of the Var's shape. */
PyObject *cad_var_slots(const CadVar *var);

/* target[...] = value for a part of an array that was just made: no former values are kept. */
int cad_array_write(CadVar *target, PyObject *value);

/* An array Var of constants, which can be assigned to; a scalar for ndim 0. */
PyObject *cad_array_constant(CadTape *tape, PyObject *values);

/* --- recordings that are to be replayed (_guards.c) --- */

/* How many tapes note guards; what follows does nothing while there are none. */
extern int cad_guarding;

/* > 0 while comparisons are those of formulas, whose equalities are kinks, not the program's. */
extern int cad_formulas;

/* The primal of a Dual through all levels (borrowed): a Dual of floats, or no Dual. */
PyObject *cad_innermost(PyObject *number);

/* The tape with guards that a number belongs to whose value a replay may find changed; or NULL. */
CadTape *cad_guarded_tape(PyObject *object);

/* The user's program reads a value by `what`: -1 with TypeError if a replay would not. */
int cad_read_openly(PyObject *object, const char *what);

/* What a number looks like may decide something: that is an obstacle. */
void cad_note_text(PyObject *number);

/* The package does, for the reason `what`: then the recording cannot be replayed. */
void cad_read_quietly(PyObject *object, const char *what);

/* Record a comparison, or `number != 0`, that a replay has to come out as now. Where `answer` is
 * what was found for arrays, it may become a mask instead: what it chooses is chosen anew. */
int cad_guard_comparison(PyObject *left, PyObject *right, int how, PyObject **answer);
int cad_guard_truth(PyObject *number);

/* Masks (_masks.py): what stands for one among the operands of an operation is its `number`
 * besides numbers with derivatives, else its values. */
void cad_register_masks(PyObject *type);
int cad_is_mask(PyObject *object);

/* --- rules and sweeps (_sweeps.c) --- */

/* Record a rule: `number` is that under which the binding knows it. `operands` are Vars, `values`
 * plain results, a list of floats and arrays; answers a list of Vars. */
PyObject *cad_record_rule(CadTape *tape, size_t number, PyObject *operands, PyObject *values);

/* Set by the binding: hand on the adjoints of the entry of a rule; 0, or -1 with an exception. */
extern int (*cad_rule_hook)(CadTape *tape, size_t entry);

static inline void set_rule_hook(int (*hook)(CadTape *, size_t)) {
    cad_rule_hook = hook;
}

/* The same in sweeps of second order: what tape->second_rule does. */
extern int (*cad_second_rule_hook)(CadTape *tape, size_t entry, const CadAlong *along);

static inline void set_second_rule_hook(int (*hook)(CadTape *, size_t, const CadAlong *)) {
    cad_second_rule_hook = hook;
}

/* Sweep back over entries [begin, end): the one way into cad_sweep_reverse. 0, or -1 with an
 * exception if a rule raises one. */
int cad_sweep(CadTape *tape, size_t begin, size_t end, size_t transient, int accumulate);

/* --- operations on any numbers (_apply.c) --- */

/* A float, or a NumPy float64, which has the same layout. */
#define CAD_IS_FLOAT(object)                                                                      \
    (PyFloat_CheckExact(object) || CAD_IS_TYPE(object, PyDoubleArrType_Type))

/* How an object takes part in an operation. */
typedef enum CadClass {
    CAD_PLAIN,       /* a float, int or NumPy scalar: *value is set */
    CAD_VAR_CLASS,   /* a scalar Var: *value is set */
    CAD_DUAL_CLASS,  /* a scalar Dual */
    CAD_ARRAY_CLASS, /* an ndarray, or a Var or Dual that holds an array */
    CAD_FOREIGN,     /* anything else */
} CadClass;

#define CAD_IS_BOOL(object) (PyBool_Check(object) || PyArray_IsScalar(object, Bool))

/* Whether an object is a constant of one of the commonest types; its value. */
static inline int cad_is_constant(PyObject *object, double *value) {
    if (CAD_IS_FLOAT(object)) {
        *value = PyFloat_AS_DOUBLE(object);
        return 1;
    }
    if (PyLong_CheckExact(object)) {
        int overflow;
        const long whole = PyLong_AsLongAndOverflow(object, &overflow);
        *value = (double)whole;
        return !overflow;
    }
    return 0;
}

/* Raise TypeError for arrays whose operations mean something else: masked ones and matrices. */
int cad_check_array(PyObject *array);

/* Returns -1 with an exception if the object is a number but out of range. */
int cad_classify(PyObject *object, double *value);

/* The value of a scalar number, through all levels; nan if there is none. */
double cad_primal(PyObject *object);

/* > 0 while plain arrays are components of numbers: then NumPy's warnings are not wanted. */
extern int cad_quiet;

/* Apply an operation to as many operands as it has. NotImplemented if one of them is foreign. */
PyObject *cad_apply(CadOp op, PyObject *const *operands);

static inline PyObject *cad_apply1(CadOp op, PyObject *x) {
    return cad_apply(op, &x);
}

static inline PyObject *cad_apply2(CadOp op, PyObject *x, PyObject *y) {
    PyObject *const operands[2] = {x, y};
    return cad_apply(op, operands);
}

/* Call the package's function for an operation. */
PyObject *cad_call(CadOp op, PyObject *const *args, Py_ssize_t n);

/* Shared by Var and Dual: slots and methods that do not depend on the type. */
PyObject *cad_richcompare(PyObject *left, PyObject *right, int how);
PyObject *cad_compare(PyObject *left, PyObject *right, int how); /* a guard, and no mask */
int cad_contains(PyObject *array, PyObject *item);
PyObject *cad_divmod(PyObject *left, PyObject *right);
PyObject *cad_matmul(PyObject *left, PyObject *right);
PyObject *cad_matmul_like(PyObject *left, PyObject *right);
PyObject *cad_power(PyObject *base, PyObject *exponent, PyObject *modulus);

/* The values of a number or array, without derivatives. */
PyObject *cad_plain_value(PyObject *object);

/* An object array of the scalars of an array Var or Dual; anything else as np.asarray has it. */
PyObject *cad_elements(PyObject *object);

/* --- NumPy's protocols (_ufuncs.c) --- */

/* The operation that a ufunc stands for; -1 if there is none, -2 with an exception. */
int cad_find_op(PyObject *ufunc);

/* Whether a call is that of numpy.sum with nothing but an array Var: the commonest one. */
int cad_is_sum_of_all(PyObject *function, PyObject *x);

/* Where NumPy's protocols go for functions, and for what is no plain call of an operation. */
int cad_register(PyObject *functions, PyObject *hook);

/* --- set-up (_ready.c) --- */

/* Make the types ready and fill the module with them, the functions and the errors. */
int cad_numbers_ready(PyObject *module);

#endif
