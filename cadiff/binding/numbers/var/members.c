/* The text and the attributes of Vars, and how one is made of plain numbers. Operators and
 * indexing have files of their own. */
#include "numbers/var/var.h"
#include "numbers/objects/binding.h"
#include "numbers/objects/classify.h"
#include "numbers/objects/errors.h"
#include "numbers/objects/slabs.h"
#include "numbers/objects/handles.h"
#include "numbers/objects/references.h"
#include "numbers/objects/state.h"
#include "numbers/objects/views.h"
#include "numbers/operations/operations.h"

#include "arrays/arrays.h"

#include "tape/find.h"
#include "tape/blocks.h"

/* --- text --- */

static PyObject *var_value(CadVar *var, void *closure) {
    (void)closure;
    return cad_plain_value((PyObject *)var);
}

PyObject *cad_var_str(CadVar *var) {
    cad_note_text((PyObject *)var);
    return cad_then(var_value(var, NULL), PyObject_Str);
}

PyObject *cad_var_repr(CadVar *var) {
    if (cad_note_repr((PyObject *)var)) {
        return cad_then(var_value(var, NULL), PyObject_Repr);
    }
    PyObject *text = cad_var_str(var);
    PyObject *result = text == NULL ? NULL : PyUnicode_FromFormat("Var(%U)", text);
    Py_XDECREF(text);
    return result;
}

/* --- attributes --- */

static PyObject *get_value(CadVar *var, void *what) {
    if (cad_note_taken((PyObject *)var) < 0) {
        return NULL;
    }
    cad_read_noted((PyObject *)var, what);
    return var_value(var, NULL);
}

/* The slots that an entry on single numbers reads as variables; how many they are. */
static int parent_slots(const CadTape *tape, size_t index, CadSlot slots[3]) {
    const CadEntry e = tape->entries[index];
    const int arity = cad_op_info[CAD_CODE_OP(e.code)].arity;
    const CadSlot operands[3] = {e.a, e.b, arity == 3 ? tape->entries[index - 1].a : 0};
    int count = 0;
    for (int i = 0; i < arity; i++) {
        /* A slot that no entry wrote is a constant, and no parent. */
        if (cad_tape_find(tape, operands[i]) < tape->n_entries && (e.code & 3) != 1u << i) {
            slots[count++] = operands[i];
        }
    }
    return count;
}

/* The operand of an entry over arrays, without the axes along which it was repeated. The entry
 * does not know how its axes were divided: as those of its result, if their number of elements
 * allows. */
static PyObject *parent_view(const CadVar *var, CadPlan *plan, int k) {
    const int64_t *place = cad_plan_view(plan, k);
    const uint32_t flags = cad_plan_is_single(plan) ? CAD_SINGLE : 0;
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    int ndim = 0;
    for (int i = 0; i < plan->ndim; i++) {
        if (place[i + 1] != 0) {
            shape[ndim] = cad_plan_shape(plan)[i];
            strides[ndim++] = place[i + 1];
        }
    }
    if (CAD_IS_VAR_ARRAY(var) && ndim == 1 && strides[0] == 1 && shape[0] == var->view->size) {
        return cad_var_view(var->tape, (CadSlot)place[0], var->view->ndim, CAD_SHAPE(var->view),
                            NULL, flags);
    }
    return cad_var_view(var->tape, (CadSlot)place[0], ndim, shape, strides, flags);
}

static PyObject *var_parents(CadVar *var, void *closure) {
    (void)closure;
    if (var->kind == CAD_STALE) {
        cad_raise_stale();
        return NULL;
    }
    CadTape *tape = var->tape;
    const size_t index = tape == NULL ? 0 : cad_tape_find(tape, var->slot);
    if (tape == NULL || index == tape->n_entries ||
        CAD_CODE_OP(tape->entries[index].code) == CAD_OP_LEAF) {
        return PyTuple_New(0);
    }
    cad_tape_pin(tape); /* a new list may run the garbage collector, and that a finalizer */
    PyObject *list = PyList_New(0);
    const CadEntry e = tape->entries[index];
    CadSlot slots[3];
    const int count = CAD_IS_ARRAY_ENTRY(e) ? cad_tape_plan(tape, e)->n_views - 1
                                            : parent_slots(tape, index, slots);
    for (int i = 0; list != NULL && i < count; i++) {
        if (CAD_IS_ARRAY_ENTRY(e) && cad_tape_plan(tape, e)->passive >> (i + 1) & 1) {
            continue;
        }
        PyObject *parent = CAD_IS_ARRAY_ENTRY(e)
                               ? parent_view(var, cad_tape_plan(tape, e), i + 1)
                               : cad_var_new(tape, slots[i], tape->values[slots[i]]);
        if (parent == NULL || PyList_Append(list, parent) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(parent);
    }
    cad_tape_unpin(tape);
    return cad_then(list, PyList_AsTuple);
}

static PyObject *itself(PyObject *self, void *closure) {
    (void)closure;
    return Py_NewRef(self);
}

static PyObject *var_transpose(CadVar *var, void *closure) {
    (void)closure;
    if (!CAD_IS_VAR_ARRAY(var)) {
        return Py_NewRef(var);
    }
    if (var->kind == CAD_STALE) {
        return cad_then(cad_attribute(cad_var_values((PyObject *)var), "T"), cad_var_stale);
    }
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    const int ndim = var->view->ndim;
    for (int i = 0; i < ndim; i++) {
        shape[i] = CAD_SHAPE(var->view)[ndim - 1 - i];
        strides[i] = CAD_STRIDES(var->view)[ndim - 1 - i];
    }
    return cad_var_view(var->tape, var->slot, ndim, shape, strides, var->view->flags);
}

static int refuse_grad(PyObject *self, PyObject *value, void *name) {
    (void)self, (void)value;
    PyErr_Format(PyExc_AttributeError,
                 "%s cannot be assigned to: y.backward() adds to it, and v.zero_grad() clears it",
                 (const char *)name);
    return -1;
}

PyGetSetDef cad_var_attributes[] = {
    {"value", (getter)get_value, cad_refuse_value,
     "The value: a float if 0-d, else a fresh ndarray.", "v.value"},
    {"v", (getter)get_value, cad_refuse_value, "Short for value.", "v.v"},
    {"grad", (getter)cad_var_get_grad, refuse_grad,
     "Of a leaf, the gradients that all passes have added up; of an intermediate number, the "
     "adjoint that the last pass left. 0 before any pass and after zero_grad().",
     "v.grad"},
    {"gv", (getter)cad_var_get_grad, refuse_grad, "Short for grad.", "v.gv"},
    {"parents", (getter)var_parents, NULL,
     "The Vars that this one was computed from; () for a leaf.", NULL},
    {"T", (getter)var_transpose, NULL, "The transpose.", NULL},
    {"real", itself, NULL, "The Var itself.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* --- making --- */

static PyObject *leaf_from_array(CadTape *tape, PyObject *value) {
    PyObject *array = cad_checked_array(value);
    if (array == NULL) {
        return NULL;
    }
    const int type = PyArray_TYPE((PyArrayObject *)array);
    if (PyTypeNum_ISCOMPLEX(type)) {
        return cad_then(array, cad_complex_var);
    }
    if (!PyTypeNum_ISINTEGER(type) && !PyTypeNum_ISFLOAT(type)) {
        PyErr_Format(PyExc_TypeError,
                     "Var(value) takes a real number or an array-like of real numbers, not %s of "
                     "dtype %S%s",
                     Py_TYPE(value)->tp_name, (PyObject *)PyArray_DESCR((PyArrayObject *)array),
                     type == NPY_OBJECT ? "; cadiff.array([...]) holds numbers with derivatives"
                                        : "");
        Py_DECREF(array);
        return NULL;
    }
    const uint32_t single = type == NPY_FLOAT ? CAD_SINGLE : 0;
    Py_SETREF(array,
              PyArray_FROMANY(array, NPY_DOUBLE, 0, 0, NPY_ARRAY_DEFAULT | NPY_ARRAY_FORCECAST));
    if (array == NULL) {
        return NULL;
    }
    PyArrayObject *values = (PyArrayObject *)array;
    CadSlot slot;
    const size_t size = (size_t)PyArray_SIZE(values);
    CadStatus status = cad_tape_leaf(tape, PyArray_DATA(values), size, 1, &slot);
    if (status == CAD_OK) {
        status = cad_tape_note_block(tape, slot, slot + size, CAD_ARGUMENT);
    }
    PyObject *var = cad_check(status) < 0
                        ? NULL
                        : cad_var_view(tape, slot, PyArray_NDIM(values), PyArray_DIMS(values),
                                       NULL, CAD_INPUT | CAD_LEAF | single);
    Py_DECREF(array);
    return var;
}

PyObject *cad_var_make(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    (void)type;
    static char *names[] = {"value", NULL};
    PyObject *value;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:Var", names, &value)) {
        if (PyTuple_GET_SIZE(args) == 1) { /* and others by keyword */
            PyErr_SetString(PyExc_TypeError,
                            "Var(value) takes a value alone: every Var is recorded, in float64");
        }
        return NULL;
    }
    CadTape *tape = cad_current_tape();
    if (tape == NULL) {
        return NULL;
    }
    if (CAD_IS_VAR(value) || CAD_IS_DUAL(value)) {
        PyErr_Format(PyExc_TypeError,
                     "Var(value) takes plain numbers, not a %s, whose derivative would be lost: "
                     "use it as it is, or write Var(cadiff.value(v))",
                     Py_TYPE(value)->tp_name);
        return NULL;
    }
    double number;
    if (PyFloat_CheckExact(value)) {
        number = PyFloat_AS_DOUBLE(value);
    } else {
        const int class = CAD_IS_BOOL(value) ? CAD_FOREIGN : cad_classify(value, &number);
        if (class < 0) {
            return NULL;
        }
        if (class != CAD_PLAIN || PyArray_IsScalar(value, Float)) {
            return cad_is_complex(value) ? cad_complex_var(value) : leaf_from_array(tape, value);
        }
    }
    CadSlot slot;
    return cad_check(cad_tape_leaf(tape, &number, 1, 1, &slot)) < 0
               ? NULL
               : cad_var_new(tape, slot, number);
}
