/* The life of Vars: handles become stale when their part of the tape is rewound, and say what of
 * the tape is still reachable when it has to make room. */
#include "numbers/objects/errors.h"
#include "numbers/objects/handles.h"
#include "numbers/objects/slabs.h"
#include "numbers/objects/state.h"
#include "numbers/objects/views.h"

#include "sweeps/sweeps.h"
#include "tape/blocks.h"
#include "tape/tape.h"

void cad_var_dealloc(CadVar *var) {
    CadTape *tape = var->tape;
    if (tape != NULL) {
        if (var->slot >= tape->mark_slots) {
            tape->handles--;
        } else {
            cad_tape_count_handle(tape, var->slot, -1);
        }
    }
    if (CAD_IS_VAR_ARRAY(var)) {
        PyMem_Free(var->view->kept);
        PyMem_Free(var->view);
        Py_SET_TYPE(var, &CadVar_Type);
    }
    var->tape = (CadTape *)cad_state.free_vars;
    cad_state.free_vars = var;
}

PyObject *cad_var_passive(double value) {
    CadVar *var = cad_var_allocate();
    if (var != NULL) {
        var->value = value;
        var->tape = NULL;
        var->slot = CAD_NONE;
        var->kind = CAD_PASSIVE;
    }
    return (PyObject *)var;
}

static CadView *new_view(int ndim, const npy_intp *shape, const npy_intp *strides,
                         uint32_t flags) {
    CadView *view = PyMem_Malloc(sizeof *view + 2 * (size_t)ndim * sizeof(npy_intp));
    if (view == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    view->kept = NULL;
    view->flags = flags;
    view->ndim = ndim;
    view->size = 1;
    for (int i = ndim; i-- > 0;) {
        CAD_SHAPE(view)[i] = shape[i];
        CAD_STRIDES(view)[i] = strides != NULL ? strides[i] : view->size;
        view->size *= shape[i];
    }
    return view;
}

PyObject *cad_var_view(CadTape *tape, CadSlot slot, int ndim, const npy_intp *shape,
                       const npy_intp *strides, uint32_t flags) {
    if (ndim == 0 && !(flags & (CAD_CELL | CAD_SINGLE))) {
        return cad_var_new(tape, slot, tape->values[slot]);
    }
    CadView *view = new_view(ndim, shape, strides, flags);
    if (view == NULL) {
        return NULL;
    }
    CadVar *var = (CadVar *)cad_var_new(tape, slot, 0.0);
    if (var == NULL) {
        PyMem_Free(view);
        return NULL;
    }
    Py_SET_TYPE(var, &CadVarArray_Type);
    var->kind = CAD_ARRAY;
    var->view = view;
    return (PyObject *)var;
}

/* A view over values that stand nowhere else, an array of float64 in order. */
static CadView *view_of_kept(PyArrayObject *values, uint32_t flags) {
    CadView *view = new_view(PyArray_NDIM(values), PyArray_DIMS(values), NULL, flags);
    const size_t bytes = view == NULL ? 0 : (size_t)view->size * sizeof(double);
    if (view != NULL && (view->kept = PyMem_Malloc(bytes + 1)) == NULL) {
        PyMem_Free(view);
        PyErr_NoMemory();
        return NULL;
    }
    if (view != NULL) {
        memcpy(view->kept, PyArray_DATA(values), bytes);
    }
    return view;
}

PyObject *cad_var_stale(PyObject *values) {
    const int is_single = PyArray_TYPE((PyArrayObject *)values) == NPY_FLOAT32;
    PyObject *ordered = PyArray_FROMANY(values, NPY_DOUBLE, 0, 0, NPY_ARRAY_CARRAY_RO);
    if (ordered == NULL) {
        return NULL;
    }
    PyArrayObject *array = (PyArrayObject *)ordered;
    const int has_view = PyArray_NDIM(array) > 0 || is_single;
    CadVar *var = CAD_VAR(cad_var_passive(has_view ? 0.0 : *(double *)PyArray_DATA(array)));
    CadView *view = NULL;
    if (var != NULL) {
        var->kind = CAD_STALE;
        if (has_view && (view = view_of_kept(array, is_single ? CAD_SINGLE : 0)) == NULL) {
            Py_CLEAR(var);
        }
    }
    if (view != NULL) {
        Py_SET_TYPE(var, &CadVarArray_Type);
        var->view = view;
    }
    Py_DECREF(ordered);
    return (PyObject *)var;
}

/* --- rewinding --- */

/* Copy what an array views before its part of the tape goes. */
static void keep_values(CadVar *var) {
    CadView *view = var->view;
    view->kept = PyMem_Malloc((size_t)(view->size > 0 ? view->size : 1) * sizeof(double));
    npy_intp index[NPY_MAXDIMS] = {0};
    CadSlot slot = var->slot;
    const double *values = cad_tape_values(var->tape, slot);
    for (npy_intp i = 0; view->kept != NULL && i < view->size; i++) {
        view->kept[i] = values[slot];
        slot = cad_view_next(view, index, slot);
    }
}

static void make_stale(CadVar *var, void *context) {
    const size_t slots = *(const size_t *)context;
    /* An empty array that was there before may stand at the mark itself. */
    const int is_empty = CAD_IS_VAR_ARRAY(var) && var->view->size == 0;
    if (var->slot < slots || (is_empty && var->slot == slots)) {
        return;
    }
    if (CAD_IS_VAR_ARRAY(var)) {
        keep_values(var);
    }
    var->tape = NULL;
    var->slot = CAD_NONE;
    var->kind = CAD_STALE;
}

/* Let go of rules whose entries were rewound. */
static void forget_rules(CadTape *tape) {
    PyObject *rules = tape->rules;
    if ((size_t)PyList_GET_SIZE(rules) > tape->n_rules &&
        PyList_SetSlice(rules, (Py_ssize_t)tape->n_rules, PyList_GET_SIZE(rules), NULL) < 0) {
        PyErr_Clear();
    }
}

/* After compaction: the rules that are left, in the order of their entries. */
static void renumber_rules(CadTape *tape) {
    PyObject *rules = tape->rules;
    Py_ssize_t next = 0;
    if (PyList_GET_SIZE(rules) == 0) {
        return;
    }
    for (size_t i = 0; i < tape->n_entries; i++) {
        if (cad_entry_is_rule(tape->entries[i])) {
            int64_t *number = cad_plan_extra(cad_tape_plan(tape, tape->entries[i]));
            PyObject *rule = PyList_GET_ITEM(rules, *number);
            PyList_SET_ITEM(rules, *number, PyList_GET_ITEM(rules, next));
            PyList_SET_ITEM(rules, next, rule);
            *number = next++;
        }
    }
    /* The others go with the next recording: what they hold may run code that we cannot have
     * here. */
}

void cad_rewind(CadTape *tape) {
    size_t slots = tape->mark_slots;
    if (tape->handles > 0) {
        cad_each_var(tape, make_stale, &slots);
        cad_slabs_release();
    }
    cad_tape_rewind(tape);
    forget_rules(tape);
}

/* --- reclaiming --- */

static void hold(CadVar *var, void *reclaim) {
    size_t low, high;
    cad_var_bounds(var, &low, &high);
    cad_reclaim_hold_range(reclaim, low, high + 1); /* so that the strides stay right */
}

static void relocate(CadVar *var, void *reclaim) {
    var->slot = cad_reclaim_target(reclaim, var->slot);
}

void cad_var_make_room(CadTape *tape) {
    CadReclaim reclaim;
    if (cad_reclaim_begin(tape, &reclaim) == CAD_OK) {
        cad_each_var(tape, hold, &reclaim);
        const size_t live = cad_reclaim_trace(tape, &reclaim);
        if (live > tape->n_slots / 4 * 3 && tape->n_rules < tape->reclaim_rules) {
            cad_reclaim_end(&reclaim); /* moving so much for so little does not pay */
            return;
        }
        cad_sweep_undo_dead(tape, &reclaim);
        cad_each_var(tape, relocate, &reclaim);
        cad_reclaim_compact(tape, &reclaim);
        renumber_rules(tape);
        cad_slabs_release();
    }
}

/* --- the tape of a thread --- */

/* Made when it is first asked for, freed when the thread has ended and no Var of it is left. What
 * is recorded on it is not known here. */

int cad_pin(CadTape *tape) {
    if (cad_check(cad_tape_ensure(tape)) < 0) {
        return -1;
    }
    cad_tape_pin(tape);
    return 0;
}

/* Tapes whose owners are gone while numbers of theirs are alive. */
typedef struct CadOrphan {
    CadTape *tape;
    struct CadOrphan *next;
} Orphan;

static void free_deserted_tapes(void) {
    for (Orphan **link = &cad_state.orphans; *link != NULL;) {
        Orphan *orphan = *link;
        if (cad_tape_all_handles(orphan->tape) == 0 && orphan->tape->hook == NULL) {
            *link = orphan->next;
            Py_XDECREF((PyObject *)orphan->tape->rules);
            cad_tape_free(orphan->tape);
            PyMem_Free(orphan);
        } else {
            link = &orphan->next;
        }
    }
}

void cad_desert_tape(CadTape *tape) {
    Orphan *orphan = PyMem_Malloc(sizeof *orphan);
    if (orphan != NULL) { /* else the tape is leaked, which is better than numbers that dangle */
        orphan->tape = tape;
        orphan->next = cad_state.orphans;
        cad_state.orphans = orphan;
        free_deserted_tapes();
    }
}

/* Capsules in the dictionaries of thread states own the tapes. */
static void end_of_thread(PyObject *capsule) {
    cad_desert_tape(PyCapsule_GetPointer(capsule, NULL));
}

static CadTape *new_thread_tape(PyObject *dict, PyObject *key) {
    free_deserted_tapes();
    CadTape *tape = cad_tape_new();
    if (tape == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    tape->make_room = cad_var_make_room;
    tape->second_rule = cad_state.second_rule_hook;
    tape->slopes = cad_state.slopes_hook;
    tape->rules = PyList_New(0);
    if (tape->rules == NULL) {
        cad_tape_free(tape);
        return NULL;
    }
    PyObject *capsule = PyCapsule_New(tape, NULL, end_of_thread);
    if (capsule == NULL) {
        Py_DECREF((PyObject *)tape->rules);
        cad_tape_free(tape);
        return NULL;
    }
    const int status = PyDict_SetItem(dict, key, capsule);
    Py_DECREF(capsule); /* on failure this orphans and frees the tape */
    return status < 0 ? NULL : tape;
}

CadTape *cad_current_tape(void) {
    PyThreadState *thread = PyThreadState_Get();
    const uint64_t id = PyThreadState_GetID(thread); /* never used twice, unlike the address */
    if (cad_state.last_tape != NULL && id == cad_state.last_thread) {
        return cad_state.last_tape;
    }
    if (cad_state.tape_key == NULL &&
        (cad_state.tape_key = PyUnicode_InternFromString("cadiff.tape")) == NULL) {
        return NULL;
    }
    PyObject *dict = PyThreadState_GetDict();
    if (dict == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "cadiff: this thread has no Python state");
        return NULL;
    }
    PyObject *capsule = PyDict_GetItemWithError(dict, cad_state.tape_key);
    CadTape *tape = NULL;
    if (capsule != NULL) {
        tape = PyCapsule_GetPointer(capsule, NULL);
    } else if (!PyErr_Occurred()) {
        tape = new_thread_tape(dict, cad_state.tape_key);
    }
    if (tape != NULL) {
        cad_state.last_thread = id;
        cad_state.last_tape = tape;
    }
    return tape;
}

PyObject *cad_enter_new_tape(void) {
    if (cad_current_tape() == NULL) {
        return NULL;
    }
    PyObject *dict = PyThreadState_GetDict();
    PyObject *before = PyDict_GetItemWithError(dict, cad_state.tape_key);
    Py_XINCREF(before);
    if (before != NULL && new_thread_tape(dict, cad_state.tape_key) == NULL) {
        Py_CLEAR(before);
    }
    cad_state.last_tape = NULL;
    return before;
}

int cad_return_to_tape(PyObject *before) {
    cad_state.last_tape = NULL;
    return PyDict_SetItem(PyThreadState_GetDict(), cad_state.tape_key, before);
}
