/* Var: a handle of a number, or of a view over numbers, on the tape of a thread.
 *
 * Scalars are what this room is fast at: an operator on two Vars allocates a handle from a list of
 * free ones and appends one entry. Whatever is not scalar arithmetic goes through _apply.c. */
#include "_numbers.h"

PyObject *cad_stale_error;

/* --- life of a handle --- */

enum { SLAB = 255, MANY_SLABS = 64 };

typedef struct Slab {
    struct Slab *next;
    CadVar vars[SLAB];
} Slab;

static Slab *slabs;
static size_t n_slabs;
CadVar *cad_free_vars;

int cad_var_refill(void) {
    Slab *slab = cad_memory_resize(NULL, 1, sizeof *slab);
    if (slab == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    slab->next = slabs;
    slabs = slab;
    n_slabs++;
    for (int i = SLAB; i-- > 0;) {
        CadVar *var = &slab->vars[i];
        memset(var, 0, sizeof *var);
        Py_SET_TYPE(var, &CadVar_Type);
        var->tape = (CadTape *)cad_free_vars;
        cad_free_vars = var;
    }
    return 0;
}

static int is_deserted(const Slab *slab) {
    for (int i = 0; i < SLAB; i++) {
        if (Py_REFCNT(&slab->vars[i]) > 0) {
            return 0;
        }
    }
    return 1;
}

/* Give back the slabs in which nothing lives, so that walks over all handles stay short after many
 * have lived at once. The list of free ones is made anew from what is left. */
static void release_slabs(void) {
    cad_free_vars = NULL;
    for (Slab **link = &slabs; *link != NULL;) {
        Slab *slab = *link;
        if (is_deserted(slab)) {
            *link = slab->next;
            cad_memory_free(slab);
            n_slabs--;
            continue;
        }
        for (int i = SLAB; i-- > 0;) {
            CadVar *var = &slab->vars[i];
            if (Py_REFCNT(var) == 0) {
                var->tape = (CadTape *)cad_free_vars;
                cad_free_vars = var;
            }
        }
        link = &slab->next;
    }
}

/* Call visit(var, context) for all living handles of a tape. */
static void for_each_var(const CadTape *tape, void (*visit)(CadVar *, void *), void *context) {
    for (Slab *slab = slabs; slab != NULL; slab = slab->next) {
        for (int i = 0; i < SLAB; i++) {
            CadVar *var = &slab->vars[i];
            if (Py_REFCNT(var) > 0 && var->tape == tape) {
                visit(var, context);
            }
        }
    }
}

static void var_dealloc(CadVar *var) {
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
    var->tape = (CadTape *)cad_free_vars;
    cad_free_vars = var;
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

PyObject *cad_var_view(CadTape *tape, CadSlot slot, int ndim, const npy_intp *shape,
                       const npy_intp *strides, uint32_t flags) {
    if (ndim == 0) {
        return cad_var_new(tape, slot, tape->values[slot]);
    }
    CadView *view = PyMem_Malloc(sizeof *view + 2 * (size_t)ndim * sizeof(npy_intp));
    if (view == NULL) {
        return PyErr_NoMemory();
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

int cad_raise_status(CadStatus status) {
    if (status == CAD_RAISED) {
        return -1; /* the exception is set */
    }
    if (status == CAD_NO_MEMORY) {
        PyErr_SetString(PyExc_MemoryError, "cadiff: no memory left to record operations");
    } else if (status == CAD_BUSY) {
        PyErr_SetString(
            PyExc_RuntimeError,
            "a Var was computed with while another thread, to which it belongs, sweeps "
            "over what it recorded: pass values between threads (cadiff.value(v))");
    } else {
        PyErr_SetString(PyExc_OverflowError, "cadiff: a tape holds at most 2**32 numbers");
    }
    return -1;
}

int cad_raise_stale(void) {
    PyErr_SetString(cad_stale_error,
                    "this Var belongs to a gradient call that is over: its value can be read, but "
                    "it cannot be computed with; return it from f with has_aux=True, or take "
                    "cadiff.value(v) inside f");
    return -1;
}

PyObject *cad_refuse_conversion(PyObject *self) {
    PyErr_Format(PyExc_TypeError,
                 "a %s does not become a plain number by itself, because that would drop its "
                 "derivative: write cadiff.sin(v) instead of math.sin(v), cadiff.array([...]) for "
                 "an array that holds numbers with derivatives, or cadiff.value(v) for the value",
                 CAD_IS_DUAL(self) ? "Dual" : "Var");
    return NULL;
}

/* --- the tape of a thread --- */

/* Tapes of threads that ended while numbers of theirs were alive. */
typedef struct Orphan {
    CadTape *tape;
    struct Orphan *next;
} Orphan;

static Orphan *orphans;

static void free_deserted_tapes(void) {
    for (Orphan **link = &orphans; *link != NULL;) {
        Orphan *orphan = *link;
        if (cad_tape_all_handles(orphan->tape) == 0 && orphan->tape->watch == NULL) {
            *link = orphan->next;
            Py_XDECREF((PyObject *)orphan->tape->rules);
            cad_tape_free(orphan->tape);
            PyMem_Free(orphan);
        } else {
            link = &orphan->next;
        }
    }
}

/* Capsules in the dictionaries of thread states own the tapes. */
static void end_of_thread(PyObject *capsule) {
    Orphan *orphan = PyMem_Malloc(sizeof *orphan);
    if (orphan != NULL) { /* else the tape is leaked, which is better than numbers that dangle */
        orphan->tape = PyCapsule_GetPointer(capsule, NULL);
        orphan->next = orphans;
        orphans = orphan;
        free_deserted_tapes();
    }
}

static void make_room(CadTape *tape);

static CadTape *new_thread_tape(PyObject *dict, PyObject *key) {
    free_deserted_tapes();
    CadTape *tape = cad_tape_new();
    if (tape == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    tape->make_room = make_room;
    tape->second_rule = cad_second_rule_hook;
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
    static uint64_t last_thread;
    static CadTape *last_tape;
    static PyObject *key;
    PyThreadState *thread = PyThreadState_Get();
    const uint64_t id = PyThreadState_GetID(thread); /* never used twice, unlike the address */
    if (last_tape != NULL && id == last_thread) {
        return last_tape;
    }
    if (key == NULL && (key = PyUnicode_InternFromString("cadiff.tape")) == NULL) {
        return NULL;
    }
    PyObject *dict = PyThreadState_GetDict();
    if (dict == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "cadiff: this thread has no Python state");
        return NULL;
    }
    PyObject *capsule = PyDict_GetItemWithError(dict, key);
    CadTape *tape = NULL;
    if (capsule != NULL) {
        tape = PyCapsule_GetPointer(capsule, NULL);
    } else if (!PyErr_Occurred()) {
        tape = new_thread_tape(dict, key);
    }
    if (tape != NULL) {
        last_thread = id;
        last_tape = tape;
    }
    return tape;
}

/* Step an index through all elements of a view; answers the slot of the next one. */
static CadSlot next_slot(const CadView *view, npy_intp *index, CadSlot slot) {
    for (int axis = view->ndim; axis-- > 0;) {
        const npy_intp stride = CAD_STRIDES(view)[axis];
        slot += (CadSlot)stride;
        if (++index[axis] < CAD_SHAPE(view)[axis]) {
            break;
        }
        slot -= (CadSlot)(stride * index[axis]);
        index[axis] = 0;
    }
    return slot;
}

/* Copy what an array views before its part of the tape goes. */
static void keep_values(CadVar *var) {
    CadView *view = var->view;
    view->kept = PyMem_Malloc((size_t)(view->size > 0 ? view->size : 1) * sizeof(double));
    npy_intp index[NPY_MAXDIMS] = {0};
    CadSlot slot = var->slot;
    const double *values = cad_tape_values(var->tape, slot);
    for (npy_intp i = 0; view->kept != NULL && i < view->size; i++) {
        view->kept[i] = values[slot];
        slot = next_slot(view, index, slot);
    }
}

static void make_stale(CadVar *var, void *context) {
    const size_t slots = *(const size_t *)context;
    if (var->slot < slots) {
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
        if (CAD_CODE_OP(tape->entries[i].code) == CAD_OP_RULE) {
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
        for_each_var(tape, make_stale, &slots);
        if (n_slabs > MANY_SLABS) {
            release_slabs();
        }
    }
    cad_tape_rewind(tape);
    forget_rules(tape);
}

/* The lowest and the highest slot of a view. */
void cad_var_bounds(const CadVar *var, size_t *low, size_t *high) {
    *low = *high = var->slot;
    if (!CAD_IS_VAR_ARRAY(var) || var->view->size == 0) {
        return;
    }
    for (int i = 0; i < var->view->ndim; i++) {
        const npy_intp reach = (CAD_SHAPE(var->view)[i] - 1) * CAD_STRIDES(var->view)[i];
        *(reach < 0 ? low : high) += (size_t)reach;
    }
}

static void hold(CadVar *var, void *reclaim) {
    size_t low, high;
    cad_var_bounds(var, &low, &high);
    cad_reclaim_hold_range(reclaim, low, high + 1); /* so that the strides stay right */
}

static void relocate(CadVar *var, void *reclaim) {
    var->slot = cad_reclaim_target(reclaim, var->slot);
}

/* Reclaim what no living Var can reach; called by the tape when it has grown enough. */
static void make_room(CadTape *tape) {
    CadReclaim reclaim;
    if (cad_reclaim_begin(tape, &reclaim) == CAD_OK) {
        for_each_var(tape, hold, &reclaim);
        const size_t live = cad_reclaim_trace(tape, &reclaim);
        if (live > tape->n_slots / 4 * 3) {
            cad_reclaim_end(&reclaim); /* moving so much for so little does not pay */
            return;
        }
        cad_sweep_undo_dead(tape, &reclaim);
        for_each_var(tape, relocate, &reclaim);
        cad_reclaim_compact(tape, &reclaim);
        renumber_rules(tape);
        if (n_slabs > MANY_SLABS) {
            release_slabs();
        }
    }
}

/* --- arrays --- */

PyObject *cad_var_transient(const CadVar *var, double *buffer, int flags) {
    npy_intp strides[NPY_MAXDIMS];
    for (int i = 0; i < var->view->ndim; i++) {
        strides[i] = CAD_STRIDES(var->view)[i] * (npy_intp)sizeof(double);
    }
    return PyArray_New(&PyArray_Type, var->view->ndim, CAD_SHAPE(var->view), NPY_DOUBLE, strides,
                       buffer + var->slot, 0, flags, NULL);
}

/* A copy of what a Var views in a buffer whose first number is that of slot `base`. */
static PyObject *transient_copy(const CadVar *var, double *buffer, size_t base) {
    const CadVar moved = {.view = var->view, .slot = (CadSlot)(var->slot - base)};
    PyObject *array = cad_var_transient(&moved, buffer, 0);
    if (array == NULL) {
        return NULL;
    }
    PyObject *copy = PyArray_NewCopy((PyArrayObject *)array, NPY_CORDER);
    Py_DECREF(array);
    return copy;
}

PyObject *cad_var_values(CadVar *var) {
    if (var->kind == CAD_STALE) {
        const CadView *view = var->view;
        if (view->kept == NULL) {
            return PyErr_NoMemory();
        }
        PyObject *copy = PyArray_SimpleNew(view->ndim, CAD_SHAPE(view), NPY_DOUBLE);
        if (copy != NULL) {
            memcpy(PyArray_DATA((PyArrayObject *)copy), view->kept,
                   (size_t)view->size * sizeof(double));
        }
        return copy;
    }
    if (var->tape->busy && var->tape->n_assigned > 0) {
        cad_raise_status(CAD_BUSY); /* values are not those that the array has in the end */
        return NULL;
    }
    return transient_copy(var, cad_tape_values(var->tape, var->slot), 0);
}

/* Where a leaf's accumulated gradients begin, relative to its values; 0 if `slot` is no leaf. */
static size_t gradient_offset(const CadTape *tape, CadSlot slot) {
    const size_t index = cad_tape_find(tape, slot);
    if (index < tape->n_entries && CAD_CODE_OP(tape->entries[index].code) == CAD_OP_LEAF &&
        tape->entries[index].b) {
        return tape->entries[index].a;
    }
    return 0;
}

PyObject *cad_var_grad(CadVar *var) {
    CadTape *tape = var->tape;
    const npy_intp size = var->view->size;
    const size_t offset = size == 0 ? 0 : gradient_offset(tape, var->slot);
    if (offset > 0) {
        return transient_copy(var, tape->values + offset, 0);
    }
    if (size == 0) {
        return PyArray_ZEROS(var->view->ndim, CAD_SHAPE(var->view), NPY_DOUBLE, 0);
    }
    size_t low, high;
    cad_var_bounds(var, &low, &high);
    double *adjoints = PyMem_Malloc((high - low + 1) * sizeof *adjoints);
    if (adjoints == NULL) {
        return PyErr_NoMemory();
    }
    cad_tape_read_adjoints(tape, low, high + 1, adjoints);
    PyObject *copy = transient_copy(var, adjoints, low);
    PyMem_Free(adjoints);
    return copy;
}

static int is_changed(const CadTape *tape, CadSlot slot) {
    const CadBlock *block = cad_tape_find_block(tape, slot);
    return block != NULL && block->changed;
}

/* A single number of an input shares its slot. Of an array that may be assigned to it is a copy.
 */
PyObject *cad_var_pick(CadVar *var, CadSlot slot) {
    CadTape *tape = var->tape;
    CadView *view = var->view;
    if (!(view->flags & CAD_PICKED)) {
        cad_tape_use_singly(tape, slot);
        view->flags |= CAD_PICKED;
    }
    if (view->flags & CAD_INPUT && (tape->n_assigned == 0 || !is_changed(tape, slot))) {
        return cad_var_new(tape, slot, tape->values[slot]);
    }
    if (view->flags & CAD_CONSTANT && cad_tape_is_constant(tape, slot)) {
        return cad_var_passive(tape->values[slot]);
    }
    const size_t from_start = slot - var->slot;
    const CadStatus status = cad_tape_ensure(tape);
    if (status != CAD_OK) {
        cad_raise_status(status);
        return NULL;
    }
    slot = var->slot + (CadSlot)from_start; /* the array may have moved */
    const double value = tape->values[slot];
    return cad_var_new(tape, cad_tape_push(tape, CAD_CODE(CAD_OP_positive, 0), slot, slot, value),
                       value);
}

PyObject *cad_var_elements(CadVar *var) {
    if (var->kind == CAD_STALE) {
        cad_raise_stale();
        return NULL;
    }
    PyObject *result = PyArray_SimpleNew(var->view->ndim, CAD_SHAPE(var->view), NPY_OBJECT);
    if (result == NULL || var->view->size == 0) {
        return result;
    }
    npy_intp index[NPY_MAXDIMS] = {0};
    cad_tape_pin(var->tape);
    CadSlot slot = var->slot;
    PyObject **item = PyArray_DATA((PyArrayObject *)result);
    for (npy_intp i = 0; i < var->view->size; i++) {
        Py_XSETREF(item[i], cad_var_pick(var, slot));
        if (item[i] == NULL) {
            Py_CLEAR(result);
            break;
        }
        slot = next_slot(var->view, index, slot);
    }
    cad_tape_unpin(var->tape);
    return result;
}

PyObject *cad_var_part(CadVar *var, PyObject *object) {
    CadTape *tape = var->tape;
    PyArrayObject *array = (PyArrayObject *)object;
    npy_intp strides[NPY_MAXDIMS];
    const int ndim = PyArray_NDIM(array);
    for (int i = 0; i < ndim; i++) {
        strides[i] = PyArray_STRIDE(array, i) / (npy_intp)sizeof(double);
    }
    const CadSlot slot = PyArray_SIZE(array) == 0
                             ? var->slot
                             : (CadSlot)((double *)PyArray_DATA(array) - tape->values);
    if (ndim == 0) {
        return cad_var_pick(var, slot);
    }
    return cad_var_view(tape, slot, ndim, PyArray_DIMS(array), strides, var->view->flags);
}

static int has_ellipsis(PyObject *key) {
    if (!PyTuple_Check(key)) {
        return key == Py_Ellipsis;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); i++) {
        if (PyTuple_GET_ITEM(key, i) == Py_Ellipsis) {
            return 1;
        }
    }
    return 0;
}

/* The key with `...` behind it, so that NumPy answers with a view even for a single element. */
static PyObject *with_ellipsis(PyObject *key) {
    if (has_ellipsis(key)) {
        return Py_NewRef(key);
    }
    if (!PyTuple_Check(key)) {
        return PyTuple_Pack(2, key, Py_Ellipsis);
    }
    PyObject *tail = PyTuple_Pack(1, Py_Ellipsis);
    PyObject *whole = tail == NULL ? NULL : PySequence_Concat(key, tail);
    Py_XDECREF(tail);
    return whole;
}

int cad_is_in_values(const CadTape *tape, PyObject *object) {
    if (!PyArray_Check(object)) {
        return 0;
    }
    const uintptr_t data = (uintptr_t)PyArray_DATA((PyArrayObject *)object);
    return data >= (uintptr_t)tape->values && data < (uintptr_t)(tape->values + tape->n_slots);
}

/* Indexing by anything but a whole number: NumPy itself finds the view. */
static PyObject *general_item(CadVar *var, PyObject *key) {
    PyObject *whole = with_ellipsis(key);
    PyObject *array = whole == NULL ? NULL : cad_var_transient(var, var->tape->values, 0);
    PyObject *part = array == NULL ? NULL : PyObject_GetItem(array, whole);
    PyObject *result = NULL;
    if (part != NULL && cad_is_in_values(var->tape, part)) {
        result = cad_var_part(var, part);
    } else if (part != NULL && PyArray_Check(part) && PyArray_SIZE((PyArrayObject *)part) == 0) {
        result = cad_var_part(var, part);
    } else if (part != NULL) {
        result = cad_array_gather(var, key);
    }
    Py_XDECREF(part);
    Py_XDECREF(array);
    Py_XDECREF(whole);
    return result;
}

static int raise_not_array(const char *what) {
    PyErr_Format(PyExc_TypeError, "a 0-d Var holds one number and has no %s", what);
    return -1;
}

static Py_ssize_t var_length(CadVar *var) {
    if (!CAD_IS_VAR_ARRAY(var)) {
        return raise_not_array("len()");
    }
    return CAD_SHAPE(var->view)[0];
}

/* `asked` is the index before a negative one was counted from the end. */
static PyObject *item_at(CadVar *var, Py_ssize_t index, Py_ssize_t asked) {
    if (!CAD_IS_VAR_ARRAY(var)) {
        raise_not_array("elements: it cannot be indexed or iterated");
        return NULL;
    }
    if (var->kind == CAD_STALE) {
        cad_raise_stale();
        return NULL;
    }
    const CadView *view = var->view;
    if (index < 0 || index >= CAD_SHAPE(view)[0]) {
        PyErr_Format(PyExc_IndexError, "index %zd is out of bounds for a Var of length %zd", asked,
                     (Py_ssize_t)CAD_SHAPE(view)[0]);
        return NULL;
    }
    const CadSlot slot = var->slot + (CadSlot)(index * CAD_STRIDES(view)[0]);
    if (view->ndim == 1) {
        return cad_var_pick(var, slot);
    }
    return cad_var_view(var->tape, slot, view->ndim - 1, CAD_SHAPE(view) + 1,
                        CAD_STRIDES(view) + 1, view->flags);
}

static PyObject *var_item(CadVar *var, Py_ssize_t index) {
    return item_at(var, index, index);
}

int cad_var_is_contiguous(const CadVar *var) {
    npy_intp stride = 1;
    for (int i = var->view->ndim; i-- > 0;) {
        if (CAD_SHAPE(var->view)[i] != 1 && CAD_STRIDES(var->view)[i] != stride) {
            return 0;
        }
        stride *= CAD_SHAPE(var->view)[i];
    }
    return 1;
}

int cad_new_axes(PyObject *key) {
    if (!PyTuple_Check(key)) {
        return key == Py_None ? 1 : key == Py_Ellipsis ? 0 : -1;
    }
    int count = 0, ellipses = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); i++) {
        PyObject *item = PyTuple_GET_ITEM(key, i);
        if (item != Py_None && (item != Py_Ellipsis || ++ellipses > 1)) {
            return -1;
        }
        count += item == Py_None;
    }
    return count;
}

static PyObject *var_subscript(CadVar *var, PyObject *key) {
    if (PyLong_CheckExact(key) || PyArray_IsScalar(key, Integer)) {
        Py_ssize_t index = PyLong_CheckExact(key) ? PyLong_AsSsize_t(key) : -1;
        if (index == -1) { /* or a NumPy integer, or an int that is out of range */
            PyErr_Clear();
            index = PyNumber_AsSsize_t(key, PyExc_IndexError);
            if (index == -1 && PyErr_Occurred()) {
                return NULL;
            }
        }
        const Py_ssize_t from_end =
            index < 0 && CAD_IS_VAR_ARRAY(var) ? CAD_SHAPE(var->view)[0] : 0;
        return item_at(var, index + from_end, index);
    }
    if (!CAD_IS_VAR_ARRAY(var)) {
        const int axes = cad_new_axes(key);
        if (axes < 0) {
            raise_not_array("elements: it cannot be indexed or iterated");
            return NULL;
        }
        return cad_with_axes((PyObject *)var, axes);
    }
    if (var->kind == CAD_STALE) {
        cad_raise_stale();
        return NULL;
    }
    return general_item(var, key);
}

static int var_assign(CadVar *var, PyObject *key, PyObject *value) {
    if (!CAD_IS_VAR_ARRAY(var)) {
        return raise_not_array("elements: it cannot be assigned to");
    }
    if (value == NULL) {
        PyErr_SetString(PyExc_TypeError, "elements of an array cannot be deleted");
        return -1;
    }
    return var->kind == CAD_STALE ? cad_raise_stale() : cad_array_assign(var, key, value);
}

static PyObject *var_iter(CadVar *var) {
    if (!CAD_IS_VAR_ARRAY(var)) {
        raise_not_array("elements: it cannot be indexed or iterated");
        return NULL;
    }
    return PySeqIter_New((PyObject *)var);
}

/* --- arithmetic --- */

PyObject *cad_record2(CadOp op, CadVar *x, CadVar *y, double value) {
    CadTape *tape = x->tape;
    const CadStatus status = cad_tape_has_room(tape)
                                 ? CAD_OK
                                 : cad_tape_grow_for(tape, op, x->value, y->value, 0.0, value);
    if (status != CAD_OK) {
        cad_raise_status(status);
        return NULL;
    }
    const CadSlot out = cad_tape_push(tape, CAD_CODE(op, 0), x->slot, y->slot, value);
    return cad_var_new(tape, out, value);
}

static PyObject *record1(CadOp op, CadVar *x, double value) {
    return cad_record2(op, x, x, value);
}

/* One operand is a constant: the one that `passive` names. */
PyObject *cad_record_constant(CadOp op, CadVar *x, double constant, int passive, double value) {
    CadTape *tape = x->tape;
    CadStatus status = CAD_OK;
    if (!cad_tape_has_room(tape)) {
        const double a = passive == CAD_PASSIVE_A ? constant : x->value;
        const double b = passive == CAD_PASSIVE_A ? x->value : constant;
        status = cad_tape_grow_for(tape, op, a, b, 0.0, value);
    }
    if (status != CAD_OK) {
        cad_raise_status(status);
        return NULL;
    }
    const CadSlot slot = cad_tape_constant(tape, constant);
    const CadSlot a = passive == CAD_PASSIVE_A ? slot : x->slot;
    const CadSlot b = passive == CAD_PASSIVE_A ? x->slot : slot;
    const CadSlot out = cad_tape_push(tape, CAD_CODE(op, passive), a, b, value);
    return cad_var_new(tape, out, value);
}

/* The number slots: scalars at once, everything else by the general way. */
#define BINARY_SLOT(name)                                                                         \
    static PyObject *slot_##name(PyObject *left, PyObject *right) {                               \
        double c;                                                                                 \
        if (CAD_IS_SCALAR(left)) {                                                                \
            CadVar *x = CAD_VAR(left);                                                            \
            if (CAD_IS_SCALAR(right) && CAD_VAR(right)->tape == x->tape) {                        \
                CadVar *y = CAD_VAR(right);                                                       \
                return cad_record2(CAD_OP_##name, x, y, val_##name(x->value, y->value));          \
            }                                                                                     \
            if (cad_is_constant(right, &c)) {                                                     \
                const double v = val_##name(x->value, c);                                         \
                return cad_record_constant(CAD_OP_##name, x, c, CAD_PASSIVE_B, v);                \
            }                                                                                     \
        } else if (CAD_IS_SCALAR(right) && cad_is_constant(left, &c)) {                           \
            CadVar *y = CAD_VAR(right);                                                           \
            const double v = val_##name(c, y->value);                                             \
            return cad_record_constant(CAD_OP_##name, y, c, CAD_PASSIVE_A, v);                    \
        }                                                                                         \
        return cad_apply2(CAD_OP_##name, left, right);                                            \
    }

BINARY_SLOT(add)
BINARY_SLOT(subtract)
BINARY_SLOT(multiply)
BINARY_SLOT(divide)
BINARY_SLOT(floor_divide)
BINARY_SLOT(mod)

#define UNARY_SLOT(name)                                                                          \
    static PyObject *slot_##name(PyObject *operand) {                                             \
        if (CAD_VAR(operand)->kind == CAD_SCALAR) {                                               \
            CadVar *x = CAD_VAR(operand);                                                         \
            return record1(CAD_OP_##name, x, val_##name(x->value));                               \
        }                                                                                         \
        return cad_apply1(CAD_OP_##name, operand);                                                \
    }

UNARY_SLOT(negative)
UNARY_SLOT(absolute)

static PyObject *slot_power(PyObject *base, PyObject *exponent, PyObject *modulus) {
    double c;
    if (CAD_IS_SCALAR(base) && modulus == Py_None && cad_is_constant(exponent, &c)) {
        CadVar *x = CAD_VAR(base);
        if (c == 2.0) {
            return record1(CAD_OP_square, x, val_square(x->value));
        }
        return cad_record_constant(CAD_OP_power, x, c, CAD_PASSIVE_B, val_power(x->value, c));
    }
    return cad_power(base, exponent, modulus);
}

/* A number is itself one; what is assigned to +y must not reach an array y. */
static PyObject *slot_positive(PyObject *operand) {
    return CAD_IS_VAR_ARRAY(operand) ? cad_array_copy(CAD_VAR(operand)) : Py_NewRef(operand);
}

/* y += v writes to the array, so that all views of it see the result. A single number is bound to
 * a new one instead. */
static PyObject *in_place(PyObject *target, PyObject *result) {
    if (result == NULL || result == Py_NotImplemented || !CAD_IS_VAR_ARRAY(target) ||
        CAD_VAR(target)->kind != CAD_ARRAY) {
        return result;
    }
    const int status = cad_array_assign(CAD_VAR(target), Py_Ellipsis, result);
    Py_DECREF(result);
    return status < 0 ? NULL : Py_NewRef(target);
}

#define IN_PLACE_SLOT(name)                                                                       \
    static PyObject *in_place_##name(PyObject *left, PyObject *right) {                           \
        return in_place(left, slot_##name(left, right));                                          \
    }

IN_PLACE_SLOT(add)
IN_PLACE_SLOT(subtract)
IN_PLACE_SLOT(multiply)
IN_PLACE_SLOT(divide)
IN_PLACE_SLOT(floor_divide)
IN_PLACE_SLOT(mod)

static PyObject *in_place_matmul(PyObject *left, PyObject *right) {
    return in_place(left, cad_matmul_like(left, right));
}

static PyObject *in_place_power(PyObject *base, PyObject *exponent, PyObject *modulus) {
    return in_place(base, slot_power(base, exponent, modulus));
}

static int slot_bool(CadVar *var) {
    if (!CAD_IS_VAR_ARRAY(var)) {
        return var->value != 0.0;
    }
    if (var->view->size != 1) {
        PyErr_Format(PyExc_ValueError,
                     "the truth value of a Var of %zd elements is ambiguous: use .any() or .all() "
                     "of a comparison",
                     (Py_ssize_t)var->view->size);
        return -1;
    }
    if (var->kind == CAD_STALE) {
        return cad_raise_stale();
    }
    return cad_tape_values(var->tape, var->slot)[var->slot] != 0.0;
}

/* --- text --- */

static PyObject *var_value(CadVar *var, void *closure) {
    (void)closure;
    return CAD_IS_VAR_ARRAY(var) ? cad_var_values(var) : PyFloat_FromDouble(var->value);
}

static PyObject *var_str(CadVar *var) {
    PyObject *value = var_value(var, NULL);
    PyObject *text = value == NULL ? NULL : PyObject_Str(value);
    Py_XDECREF(value);
    return text;
}

static PyObject *var_repr(CadVar *var) {
    PyObject *text = var_str(var);
    PyObject *result = text == NULL ? NULL : PyUnicode_FromFormat("Var(%U)", text);
    Py_XDECREF(text);
    return result;
}

/* --- attributes --- */

static PyObject *var_grad(CadVar *var, void *closure) {
    (void)closure;
    if (var->kind == CAD_STALE) {
        cad_raise_stale();
        return NULL;
    }
    if (var->kind == CAD_PASSIVE) {
        return PyFloat_FromDouble(0.0);
    }
    if (CAD_IS_VAR_ARRAY(var)) {
        return cad_var_grad(var);
    }
    const size_t offset = gradient_offset(var->tape, var->slot);
    return PyFloat_FromDouble(offset > 0 ? var->tape->values[var->slot + offset]
                                         : cad_tape_adjoint(var->tape, var->slot));
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
                            NULL, 0);
    }
    return cad_var_view(var->tape, (CadSlot)place[0], ndim, shape, strides, 0);
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
    PyObject *parents = list == NULL ? NULL : PyList_AsTuple(list);
    Py_XDECREF(list);
    return parents;
}

static PyObject *var_shape(CadVar *var, void *closure) {
    (void)closure;
    const int ndim = CAD_IS_VAR_ARRAY(var) ? var->view->ndim : 0;
    PyObject *shape = PyTuple_New(ndim);
    for (int i = 0; shape != NULL && i < ndim; i++) {
        PyObject *length = PyLong_FromSsize_t(CAD_SHAPE(var->view)[i]);
        if (length == NULL) {
            Py_CLEAR(shape);
            break;
        }
        PyTuple_SET_ITEM(shape, i, length);
    }
    return shape;
}

static PyObject *var_ndim(CadVar *var, void *closure) {
    (void)closure;
    return PyLong_FromLong(CAD_IS_VAR_ARRAY(var) ? var->view->ndim : 0);
}

static PyObject *var_size(CadVar *var, void *closure) {
    (void)closure;
    return PyLong_FromSsize_t(CAD_IS_VAR_ARRAY(var) ? var->view->size : 1);
}

PyObject *cad_dtype;

static PyObject *number_dtype(PyObject *self, void *closure) {
    (void)self, (void)closure;
    return Py_NewRef(cad_dtype);
}

static PyObject *itself(PyObject *self, void *closure) {
    (void)closure;
    return Py_NewRef(self);
}

static PyObject *zero(PyObject *self, void *closure) {
    (void)self, (void)closure;
    return PyFloat_FromDouble(0.0);
}

static PyObject *var_transpose(CadVar *var, void *closure) {
    (void)closure;
    if (!CAD_IS_VAR_ARRAY(var)) {
        return Py_NewRef(var);
    }
    if (var->kind == CAD_STALE) {
        cad_raise_stale();
        return NULL;
    }
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    const int ndim = var->view->ndim;
    for (int i = 0; i < ndim; i++) {
        shape[i] = CAD_SHAPE(var->view)[ndim - 1 - i];
        strides[i] = CAD_STRIDES(var->view)[ndim - 1 - i];
    }
    return cad_var_view(var->tape, var->slot, ndim, shape, strides, var->view->flags);
}

static PyGetSetDef var_getset[] = {
    {"value", (getter)var_value, NULL, "The value: a float if 0-d, else a fresh ndarray.", NULL},
    {"v", (getter)var_value, NULL, "Short for value.", NULL},
    {"grad", (getter)var_grad, NULL,
     "Of a leaf, the gradients that all passes have added up; of an intermediate number, the "
     "adjoint that the last pass left. 0 before any pass and after zero_grad().",
     NULL},
    {"gv", (getter)var_grad, NULL, "Short for grad.", NULL},
    {"parents", (getter)var_parents, NULL,
     "The Vars that this one was computed from; () for a leaf.", NULL},
    {"shape", (getter)var_shape, NULL, "Lengths of the axes.", NULL},
    {"ndim", (getter)var_ndim, NULL, "Number of axes.", NULL},
    {"size", (getter)var_size, NULL, "Number of elements.", NULL},
    {"dtype", number_dtype, NULL, "float64.", NULL},
    {"T", (getter)var_transpose, NULL, "The transpose.", NULL},
    {"real", itself, NULL, "The Var itself.", NULL},
    {"imag", zero, NULL, "0.0.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* --- backward --- */

/* The seed as an array of the Var's shape; only a float will do for a scalar. */
static PyObject *seed_array(CadVar *var, PyObject *seed) {
    if (seed == NULL) {
        if (CAD_IS_VAR_ARRAY(var) && var->view->size != 1) {
            PyObject *shape = var_shape(var, NULL);
            PyErr_Format(PyExc_TypeError,
                         "backward() of an array of shape %S wants a seed of that shape: "
                         "write y.backward(seed)",
                         shape);
            Py_XDECREF(shape);
            return NULL;
        }
        return PyFloat_FromDouble(1.0);
    }
    if (CAD_IS_VAR(seed) || CAD_IS_DUAL(seed)) {
        PyErr_SetString(PyExc_TypeError,
                        "the seed of backward() is a plain number or array: use cadiff.vjp for "
                        "gradients that are differentiated again");
        return NULL;
    }
    return Py_NewRef(seed);
}

static int add_seed(CadVar *var, PyObject *seed) {
    size_t low, high;
    cad_var_bounds(var, &low, &high);
    cad_tape_prepare_adjoints(var->tape, low, high);
    double *const adjoints = var->tape->adjoints;
    if (var->kind == CAD_SCALAR) {
        double number;
        const int class = cad_classify(seed, &number);
        if (class != CAD_PLAIN) {
            if (!PyErr_Occurred()) {
                PyErr_Format(PyExc_TypeError, "the seed of a scalar is a real number, not %R",
                             seed);
            }
            return -1;
        }
        adjoints[var->slot] = number;
        return 0;
    }
    PyObject *array = PyArray_FROMANY(seed, NPY_DOUBLE, 0, 0, NPY_ARRAY_DEFAULT);
    PyObject *place = array == NULL ? NULL : cad_var_transient(var, adjoints, NPY_ARRAY_WRITEABLE);
    int status = -1;
    if (place != NULL) {
        if (PyArray_SIZE((PyArrayObject *)array) != 1 &&
            !PyArray_SAMESHAPE((PyArrayObject *)array, (PyArrayObject *)place)) {
            PyErr_SetString(PyExc_ValueError, "the seed must have the shape of the Var");
        } else {
            status = PyArray_CopyInto((PyArrayObject *)place, (PyArrayObject *)array);
        }
    }
    Py_XDECREF(place);
    Py_XDECREF(array);
    return status;
}

static PyObject *var_backward(CadVar *var, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"seed", NULL};
    PyObject *seed = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:backward", names, &seed)) {
        return NULL;
    }
    if (var->kind == CAD_STALE) {
        cad_raise_stale();
        return NULL;
    }
    if (var->kind == CAD_PASSIVE || (CAD_IS_VAR_ARRAY(var) && var->view->size == 0)) {
        Py_RETURN_NONE;
    }
    seed = seed_array(var, seed);
    if (seed == NULL) {
        return NULL;
    }
    CadTape *tape = var->tape;
    size_t low, high;
    cad_var_bounds(var, &low, &high);
    const CadStatus status = tape->busy ? CAD_BUSY : cad_tape_clear_adjoints(tape, low, high + 1);
    if (status != CAD_OK) {
        Py_DECREF(seed);
        cad_raise_status(status);
        return NULL;
    }
    const int seeded = add_seed(var, seed);
    Py_DECREF(seed);
    if (seeded < 0) {
        return NULL;
    }
    /* What was overwritten since has entries behind the Var's own. */
    const size_t own = cad_tape_find(tape, (CadSlot)high);
    const size_t end = tape->n_assigned > 0 || own == tape->n_entries ? tape->n_entries : own + 1;
    return cad_sweep(tape, 0, end, end, 1) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *var_zero_grad(CadVar *var, PyObject *unused) {
    (void)unused;
    if (var->kind == CAD_STALE) {
        cad_raise_stale();
        return NULL;
    }
    if (var->kind == CAD_PASSIVE || (CAD_IS_VAR_ARRAY(var) && var->view->size == 0)) {
        Py_RETURN_NONE;
    }
    CadTape *tape = var->tape;
    const size_t offset = gradient_offset(tape, var->slot);
    size_t low, high;
    cad_var_bounds(var, &low, &high);
    if (offset == 0) {
        if (high >= tape->known_end || high < tape->dirty_begin) {
            Py_RETURN_NONE; /* no pass has reached it */
        }
        cad_tape_prepare_adjoints(tape, low, high);
    }
    double *const buffer = offset > 0 ? tape->values + offset : tape->adjoints;
    if (var->kind == CAD_SCALAR) {
        buffer[var->slot] = 0.0;
        Py_RETURN_NONE;
    }
    PyObject *place = cad_var_transient(var, buffer, NPY_ARRAY_WRITEABLE);
    if (place == NULL || PyArray_FillWithScalar((PyArrayObject *)place, Py_False) < 0) {
        Py_XDECREF(place);
        return NULL;
    }
    Py_DECREF(place);
    Py_RETURN_NONE;
}

static PyMethodDef var_methods[] = {
    {"backward", (PyCFunction)(void (*)(void))var_backward, METH_VARARGS | METH_KEYWORDS,
     "backward($self, /, seed=1.0)\n--\n\n"
     "Compute the adjoints of this pass, and add them into .grad of the leaves.\n\n"
     "The seed is the adjoint of this Var: a float, or for an array an array of its shape."},
    {"zero_grad", (PyCFunction)var_zero_grad, METH_NOARGS,
     "zero_grad($self, /)\n--\n\nSet .grad to 0."},
    {NULL, NULL, 0, NULL},
};

/* --- making --- */

static PyObject *leaf_from_array(CadTape *tape, PyObject *value) {
    PyObject *array = PyArray_FROM_O(value);
    if (array == NULL) {
        return NULL;
    }
    if (cad_check_array(array) < 0) {
        Py_DECREF(array);
        return NULL;
    }
    const int type = PyArray_TYPE((PyArrayObject *)array);
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
    PyObject *var = NULL;
    if (status != CAD_OK) {
        cad_raise_status(status);
    } else {
        var = cad_var_view(tape, slot, PyArray_NDIM(values), PyArray_DIMS(values), NULL,
                           CAD_INPUT | CAD_LEAF);
    }
    Py_DECREF(array);
    return var;
}

static PyObject *var_make(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    (void)type;
    static char *names[] = {"value", NULL};
    PyObject *value;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:Var", names, &value)) {
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
        if (class != CAD_PLAIN) {
            return leaf_from_array(tape, value);
        }
    }
    CadSlot slot;
    const CadStatus status = cad_tape_leaf(tape, &number, 1, 1, &slot);
    if (status != CAD_OK) {
        cad_raise_status(status);
        return NULL;
    }
    return cad_var_new(tape, slot, number);
}

/* --- the type --- */

static PyNumberMethods var_number = {
    .nb_add = slot_add,
    .nb_subtract = slot_subtract,
    .nb_multiply = slot_multiply,
    .nb_remainder = slot_mod,
    .nb_divmod = cad_divmod,
    .nb_power = slot_power,
    .nb_negative = slot_negative,
    .nb_positive = slot_positive,
    .nb_absolute = slot_absolute,
    .nb_bool = (inquiry)slot_bool,
    .nb_int = cad_refuse_conversion,
    .nb_float = cad_refuse_conversion,
    .nb_floor_divide = slot_floor_divide,
    .nb_true_divide = slot_divide,
    .nb_index = cad_refuse_conversion,
    .nb_matrix_multiply = cad_matmul,
    .nb_inplace_add = in_place_add,
    .nb_inplace_subtract = in_place_subtract,
    .nb_inplace_multiply = in_place_multiply,
    .nb_inplace_true_divide = in_place_divide,
    .nb_inplace_floor_divide = in_place_floor_divide,
    .nb_inplace_remainder = in_place_mod,
    .nb_inplace_power = in_place_power,
    .nb_inplace_matrix_multiply = in_place_matmul,
};

static PyMappingMethods var_mapping = {
    .mp_length = (lenfunc)var_length,
    .mp_subscript = (binaryfunc)var_subscript,
    .mp_ass_subscript = (objobjargproc)var_assign,
};

PyTypeObject CadVar_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "cadiff.Var",
    .tp_doc = PyDoc_STR(
        "Var(value)\n--\n\n"
        "A number, or an array of numbers, whose operations are recorded for the reverse mode.\n\n"
        "value: a float, an int or an array-like of real numbers; copied to float64.\n"
        "Computing with a Var gives Vars; y.backward() adds dy/dx into x.grad of every leaf x.\n"),
    .tp_basicsize = sizeof(CadVar),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = var_make,
    .tp_dealloc = (destructor)var_dealloc,
    .tp_repr = (reprfunc)var_repr,
    .tp_str = (reprfunc)var_str,
    .tp_hash = PyObject_HashNotImplemented,
    .tp_richcompare = cad_richcompare,
    .tp_iter = (getiterfunc)var_iter,
    .tp_as_number = &var_number,
    .tp_as_mapping = &var_mapping,
    .tp_methods = var_methods,
    .tp_getset = var_getset,
};

static PySequenceMethods array_sequence = {
    .sq_length = (lenfunc)var_length,
    .sq_item = (ssizeargfunc)var_item,
    .sq_contains = cad_contains,
};

PyTypeObject CadVarArray_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "cadiff.Var",
    .tp_doc = PyDoc_STR("A Var that holds an array."),
    .tp_basicsize = sizeof(CadVar),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_base = &CadVar_Type,
    .tp_hash = PyObject_HashNotImplemented,
    .tp_richcompare = cad_richcompare,
    .tp_as_sequence = &array_sequence,
};
