/* What a program asks of the values of numbers while it is recorded for replays: numbers whose
 * values a replay may change, and readings that are obstacles or refused. Outside of that nothing
 * here is reached. What comparisons become is not known here. */
#include "numbers/operations/operations.h"
#include "numbers/objects/classify.h"
#include "numbers/objects/references.h"
#include "numbers/objects/state.h"
#include "numbers/objects/handles.h"
#include "numbers/objects/views.h"

#include "tape/blocks.h"
#include "tape/captures.h"
#include "tape/guards.h"

bool cad_chooses_anew(void) {
    if (cad_state.guarding == 0) {
        return 0;
    }
    const CadGuards *const guards = cad_current_tape()->guards;
    return guards != NULL && !guards->at_once;
}

/* --- numbers whose values a replay may find changed --- */

/* Numbers on no tape are constants, and so are those of other threads. What an inner recording
 * made of its own numbers alone is as constant as these. */
static CadTape *tape_of_var(const CadVar *var) {
    CadTape *const tape = var->tape;
    if (tape == NULL || tape->guards == NULL) {
        return NULL;
    }
    size_t low, high;
    cad_var_bounds(var, &low, &high);
    if (var->kind == CAD_ARRAY &&
        (var->view->size == 0 ||
         (var->view->flags & CAD_CONSTANT && cad_tape_is_constant(tape, (CadSlot)low)))) {
        return NULL;
    }
    return cad_depends_below(tape, tape->guards->marks, (CadSlot)low) ? tape : NULL;
}

CadTape *cad_guarded_tape(PyObject *object) {
    object = cad_innermost(object);
    if (CAD_IS_VAR(object)) {
        return tape_of_var(CAD_VAR(object));
    }
    if (!cad_is_object_array(object)) {
        return NULL;
    }
    CadTape *tape = NULL;
    PyArrayIterObject *it = (PyArrayIterObject *)PyArray_IterNew(object);
    if (it == NULL) {
        PyErr_Clear();
        return cad_current_tape();
    }
    while (tape == NULL && PyArray_ITER_NOTDONE(it)) {
        PyObject *const item = *(PyObject **)PyArray_ITER_DATA(it);
        tape = item == NULL ? NULL : cad_guarded_tape(item);
        PyArray_ITER_NEXT(it);
    }
    Py_DECREF(it);
    return tape;
}

/* --- readings --- */

/* The tape that a reading is to be noted on; NULL outside of recordings. */
static CadTape *noting_tape(PyObject *object) {
    return cad_state.guarding == 0 ? NULL : cad_guarded_tape(object);
}

void cad_read_quietly(PyObject *object, const char *what) {
    CadTape *const tape = noting_tape(object);
    if (tape != NULL) {
        cad_guard_obstacle(tape, what);
    }
}

void cad_note_text(PyObject *number) {
    const CadTape *const tape = noting_tape(number);
    if (tape != NULL && tape->as_numpy > 0) { /* as JAX, which prints where it traces */
        return;
    }
    cad_read_quietly(number, "the text of a number is made, which a replay would not make again: "
                             "return the number, and write it when the call is over");
}

int cad_note_repr(PyObject *number) {
    CadTape *const tape = noting_tape(number);
    if (tape != NULL) {
        cad_note_text(number);
        tape->guards->is_shown |= tape->as_numpy == 0;
    }
    return tape != NULL;
}

void cad_read_noted(PyObject *object, const char *what) {
    CadTape *const tape = noting_tape(object);
    if (tape != NULL) {
        char text[CAD_OBSTACLE_ROOM];
        PyOS_snprintf(text, sizeof text,
                      "%s is a value that a replay would not read again: cadiff.stop_gradient(v) "
                      "is the number without its derivative, which a replay computes anew",
                      what);
        cad_guard_obstacle(tape, text);
    }
}

int cad_read_openly(PyObject *object, const char *what) {
    if (noting_tape(object) == NULL) {
        return 0;
    }
    PyErr_Format(PyExc_TypeError,
                 "%s inside a function that is being compiled: the program would keep the number "
                 "that it gave while recording; take derivatives by gradient functions such as "
                 "cadiff.grad, or do not compile this function",
                 what);
    return -1;
}

/* --- masks --- */

void cad_register_masks(PyObject *type) {
    Py_XSETREF(cad_state.mask_type, (PyTypeObject *)Py_NewRef(type));
}

void cad_register_scalars(PyObject *type) {
    Py_XSETREF(cad_state.scalar_type, (PyTypeObject *)Py_NewRef(type));
}

bool cad_is_mask(PyObject *object) {
    return Py_IS_TYPE(object, cad_state.mask_type) || Py_IS_TYPE(object, cad_state.scalar_type);
}

int cad_has_masks(PyObject *key) {
    int any = cad_is_mask(key);
    for (Py_ssize_t i = 0; PyTuple_Check(key) && i < PyTuple_GET_SIZE(key) && !any; i++) {
        any = cad_is_mask(PyTuple_GET_ITEM(key, i));
    }
    return any;
}

int cad_check_writable(PyObject *target) {
    return cad_done(
        PyObject_CallMethod((PyObject *)cad_state.mask_type, "check_writable", "O", target));
}

PyObject *cad_taken_by_masks(PyObject *x, PyObject *key) {
    return cad_state.guarding > 0 && cad_has_masks(key)
               ? PyObject_CallMethod((PyObject *)cad_state.mask_type, "taken", "OO", x, key)
               : Py_NewRef(Py_None);
}

PyObject *cad_key_without_masks(PyObject *key) {
    return cad_has_masks(key)
               ? PyObject_CallMethod((PyObject *)cad_state.mask_type, "read_all", "(O)", key)
               : Py_NewRef(key);
}

/* --- plain arrays indexed by stand-ins --- */

/* Only a recording has keys with masks in them: of all others it is NumPy's own function. */
static PyObject *subscript_by_masks(PyObject *array, PyObject *key) {
    if (cad_has_masks(key) && PyArray_CheckExact(array)) {
        PyObject *taken = cad_taken_by_masks(array, key);
        if (taken != Py_None) {
            return taken;
        }
        Py_DECREF(taken);
    }
    return cad_state.subscript_of_numpy(array, key);
}

/* NumPy's function in the types that derive from one, too: those made meanwhile have inherited
 * what there was. */
static void put_back(PyTypeObject *type) {
    if (type->tp_as_mapping->mp_subscript == subscript_by_masks) {
        type->tp_as_mapping->mp_subscript = cad_state.subscript_of_numpy;
    }
    PyObject *derived =
        PyObject_CallMethod((PyObject *)&PyType_Type, "__subclasses__", "O", (PyObject *)type);
    if (derived == NULL) { /* what is left does as NumPy's */
        PyErr_Clear();
        return;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(derived); i++) {
        put_back((PyTypeObject *)PyList_GET_ITEM(derived, i));
    }
    Py_DECREF(derived);
}

void cad_index_arrays_by_masks(int recordings) {
    binaryfunc *const subscript = &PyArray_Type.tp_as_mapping->mp_subscript;
    cad_state.indexing += recordings;
    if (cad_state.indexing > 0 && *subscript != subscript_by_masks) {
        cad_state.subscript_of_numpy = *subscript;
        *subscript = subscript_by_masks;
    } else if (cad_state.indexing == 0 && *subscript == subscript_by_masks) {
        put_back(&PyArray_Type);
    }
}

void cad_forget_other_recordings(const CadTape *tape) {
    int recordings = 0, indexing = 0;
    for (const CadGuards *own = tape->guards; own != NULL; own = own->outer) {
        recordings++;
        indexing += own->indexes;
    }
    cad_state.guarding = recordings;
    cad_index_arrays_by_masks(indexing - cad_state.indexing);
}
