/* The one way from the binding into the reverse sweep, and the entries at which it comes back to
 * ask Python: rules, and all entries of a tape that has a hook. Who asks for a sweep is not known
 * here. */
#include "numbers/var/var.h"
#include "numbers/objects/errors.h"
#include "numbers/objects/handles.h"
#include "numbers/objects/state.h"
#include "numbers/objects/views.h"

#include "kernels/kernels.h"
#include "sweeps/sweeps.h"
#include "tape/blocks.h"

/* --- rules --- */

/* Write an operand behind the others. */
static int64_t *put_operand(int64_t *place, const CadVar *var) {
    const int ndim = CAD_IS_VAR_ARRAY(var) ? var->view->ndim : 0;
    *place++ = var->slot;
    *place++ = ndim;
    for (int i = 0; i < ndim; i++) {
        place[i] = CAD_SHAPE(var->view)[i];
        place[ndim + i] = CAD_STRIDES(var->view)[i];
    }
    return place + 2 * ndim;
}

/* Write an array, in whatever order it stands in memory, to slots. */
static int put_values(CadTape *tape, CadSlot slot, PyArrayObject *array) {
    const int is_double = PyArray_TYPE(array) == NPY_DOUBLE;
    if (is_double && PyArray_ISCARRAY_RO(array)) {
        memcpy(tape->values + slot, PyArray_DATA(array), (size_t)PyArray_NBYTES(array));
        return 0;
    }
    const npy_intp step = is_double ? cad_step_of(array) : 0;
    if (step != 0) {
        cad_strip_add((CadStrip){tape->values + slot, 1}, (CadStrip){PyArray_DATA(array), step}, 1,
                      (size_t)PyArray_SIZE(array));
        return 0;
    }
    PyObject *place = PyArray_SimpleNewFromData(PyArray_NDIM(array), PyArray_DIMS(array),
                                                NPY_DOUBLE, tape->values + slot);
    const int status = place == NULL ? -1 : PyArray_CopyInto((PyArrayObject *)place, array);
    Py_XDECREF(place);
    return status;
}

/* Make a Var of each result: they stand one behind the other. */
static PyObject *put_results(CadTape *tape, CadSlot slot, PyObject *values) {
    PyObject *list = PyList_New(PyList_GET_SIZE(values));
    for (Py_ssize_t i = 0; list != NULL && i < PyList_GET_SIZE(values); i++) {
        PyArrayObject *array = (PyArrayObject *)PyList_GET_ITEM(values, i);
        const size_t size = (size_t)PyArray_SIZE(array);
        if (put_values(tape, slot, array) < 0) {
            Py_CLEAR(list);
            break;
        }
        if (PyArray_NDIM(array) == 0) {
            cad_tape_use_singly(tape, slot);
        }
        const uint32_t flags = PyArray_TYPE(array) == NPY_FLOAT ? CAD_SINGLE : 0;
        PyObject *var =
            cad_var_view(tape, slot, PyArray_NDIM(array), PyArray_DIMS(array), NULL, flags);
        if (var == NULL) {
            Py_CLEAR(list);
            break;
        }
        PyList_SET_ITEM(list, i, var);
        slot += (CadSlot)size;
    }
    return list;
}

/* Room for an entry may have been made by letting go of others, and of their rules: the rule of
 * the new entry goes to the place behind those that are left. */
static size_t place_rule(CadTape *tape, size_t number) {
    PyObject *const rules = tape->rules, *const rule = PyList_GET_ITEM(rules, number);
    PyList_SET_ITEM(rules, number, PyList_GET_ITEM(rules, tape->n_rules));
    PyList_SET_ITEM(rules, tape->n_rules, rule);
    return tape->n_rules++;
}

PyObject *cad_record_rule(CadTape *tape, size_t number, PyObject *operands, PyObject *values) {
    size_t words = CAD_PLAN_WORDS + 2, slots = 0;
    const Py_ssize_t n = PyList_GET_SIZE(operands);
    for (Py_ssize_t i = 0; i < n; i++) {
        const CadVar *var = CAD_VAR(PyList_GET_ITEM(operands, i));
        words += 2 + (CAD_IS_VAR_ARRAY(var) ? 2 * (size_t)var->view->ndim : 0);
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(values); i++) {
        slots += (size_t)PyArray_SIZE((PyArrayObject *)PyList_GET_ITEM(values, i));
    }
    if (cad_pin(tape) < 0) {
        return NULL;
    }
    CadPlan *plan;
    PyObject *result = NULL;
    const uint32_t rule = CAD_CODE(CAD_OP_RULE, 0);
    if (cad_check(cad_tape_push_plan(tape, rule, slots > 0 ? slots : 1, words, &plan)) == 0) {
        const uint32_t length = plan->words;
        *plan = (CadPlan){.words = length, .n_extra = length - CAD_PLAN_WORDS, .index = -1};
        int64_t *place = cad_plan_extra(plan);
        *place++ = (int64_t)place_rule(tape, number);
        *place++ = n;
        for (Py_ssize_t i = 0; i < n; i++) {
            place = put_operand(place, CAD_VAR(PyList_GET_ITEM(operands, i)));
        }
        result = put_results(tape, tape->entries[tape->n_entries - 1].out, values);
    }
    cad_tape_unpin(tape);
    return result;
}

/* --- sweeps --- */

enum { LONG_SWEEP = 1 << 16 }; /* slots: other threads may run meanwhile */

static CadStop sweep_part(CadTape *tape, size_t begin, size_t end, size_t transient,
                          int accumulate) {
    const size_t first = begin < tape->n_entries ? tape->entries[begin].out : tape->n_slots;
    if (tape->n_slots - first < LONG_SWEEP) {
        return cad_sweep_reverse(tape, begin, end, transient, accumulate);
    }
    CadStop stop;
    cad_tape_set_busy(tape, 1);
    Py_BEGIN_ALLOW_THREADS;
    stop = cad_sweep_reverse(tape, begin, end, transient, accumulate);
    Py_END_ALLOW_THREADS;
    cad_tape_set_busy(tape, 0);
    return stop;
}

/* Entry by entry, each of which the hook is called for; all adjoints are kept. */
static int sweep_hooked(CadTape *tape, size_t begin, size_t end, int accumulate) {
    const CadHook *const hook = tape->hook;
    int status = 0;
    size_t i = end;
    while (status == 0 && i > begin && (i == end || tape->entries[i].out > tape->dirty_begin)) {
        i--;
        const CadStop stop = cad_sweep_reverse(tape, i, i + 1, end, accumulate);
        status = stop.rule ? cad_state.rule_hook(tape, i) : 0;
        if (status == 0 && hook->swept(hook->holder, i) != CAD_OK) {
            status = -1;
        }
    }
    cad_sweep_redo(tape, i, end);
    return status;
}

int cad_sweep(CadTape *tape, size_t begin, size_t end, size_t transient, bool accumulate) {
    if (tape->busy) {
        return cad_raise_status(CAD_BUSY);
    }
    if (tape->hook != NULL && tape->hook->swept != NULL) {
        return sweep_hooked(tape, begin, end, accumulate);
    }
    CadStop stop = sweep_part(tape, begin, end, transient, accumulate);
    int status = 0;
    while (stop.rule && status == 0) {
        status = cad_state.rule_hook(tape, stop.at - 1);
        if (status == 0) {
            stop = sweep_part(tape, begin, stop.at - 1, transient, accumulate);
        }
    }
    cad_sweep_redo(tape, stop.at, end);
    return status;
}
