/* Ufuncs made of the core's elementwise functions of SciPy's kind, and of the loops of SciPy's own
 * that these ask. */
#include "numbers/module/module.h"
#include "numbers/objects/binding.h"

#include "kernels/elementwise.h"

#include <fenv.h>

enum { MOST_LOOPS = 8 };

/* What a ufunc points to. */
typedef struct Made {
    CadElementwiseCall call;
    PyUFuncGenericFunction loops[MOST_LOOPS];
    void *data[MOST_LOOPS];
    char types[MOST_LOOPS * (CAD_MOST_NUMBERS + 1)];
} Made;

static void free_made(PyObject *capsule) {
    PyMem_Free(PyCapsule_GetPointer(capsule, NULL));
}

/* They leave none of the processor's flags behind, of which NumPy would make warnings. */
static void loop_doubles(char **data, const npy_intp *dimensions, const npy_intp *steps,
                         void *call) {
    cad_run_elementwise(data, dimensions, steps, call);
    feclearexcept(FE_ALL_EXCEPT);
}

/* SciPy, too, computes in doubles. */
static void loop_floats(char **data, const npy_intp *dimensions, const npy_intp *steps,
                        void *call) {
    const int arity = ((const CadElementwiseCall *)call)->function->arity;
    const npy_intp once = 1, no_steps[CAD_MOST_NUMBERS + 1] = {0};
    double numbers[CAD_MOST_NUMBERS + 1];
    char *places[CAD_MOST_NUMBERS + 1];
    for (int k = 0; k <= arity; k++) {
        places[k] = (char *)&numbers[k];
    }
    for (npy_intp i = 0; i < dimensions[0]; i++) {
        for (int k = 0; k < arity; k++) {
            numbers[k] = *(const float *)(data[k] + i * steps[k]);
        }
        cad_run_elementwise(places, &once, no_steps, call);
        *(float *)(data[arity] + i * steps[arity]) = (float)numbers[arity];
    }
    feclearexcept(FE_ALL_EXCEPT);
}

static int add_loop(Made *made, int n, PyUFuncGenericFunction loop, void *data, int n_types,
                    const char *types) {
    made->loops[n] = loop;
    made->data[n] = data;
    memcpy(made->types + n * n_types, types, (size_t)n_types);
    return n + 1;
}

/* The loops of a ufunc: over doubles; of one that SciPy has, over floats, too, and, as they are
 * there, complex numbers, in SciPy's order, by which NumPy chooses among them. */
static int add_loops(Made *made, PyObject *own) {
    const int n_types = made->call.function->arity + 1;
    char doubles[CAD_MOST_NUMBERS + 1], floats[CAD_MOST_NUMBERS + 1];
    memset(doubles, NPY_DOUBLE, sizeof doubles);
    memset(floats, NPY_FLOAT, sizeof floats);
    if (own == NULL) {
        return add_loop(made, 0, loop_doubles, &made->call, n_types, doubles);
    }
    const PyUFuncObject *const ufunc = (const PyUFuncObject *)own;
    int n = 0;
    for (int i = 0; i < ufunc->ntypes && n < MOST_LOOPS; i++) {
        const char *const types = ufunc->types + i * n_types;
        const char last = types[n_types - 1];
        if (memcmp(types, doubles, (size_t)n_types) == 0) {
            n = add_loop(made, n, loop_doubles, &made->call, n_types, types);
        } else if (memcmp(types, floats, (size_t)n_types) == 0) {
            n = add_loop(made, n, loop_floats, &made->call, n_types, types);
        } else if (last == NPY_CFLOAT || last == NPY_CDOUBLE) {
            n = add_loop(made, n, ufunc->functions[i], (void *)ufunc->data[i], n_types, types);
        }
    }
    return n;
}

static const CadElementwise *find(const char *name) {
    const CadElementwise *function = cad_elementwise;
    while (function->name != NULL && strcmp(function->name, name) != 0) {
        function++;
    }
    return function->name == NULL ? NULL : function;
}

PyObject *cad_make_elementwise(const char *name, PyObject *lent) {
    const CadElementwise *const function = find(name);
    if (function == NULL) {
        Py_RETURN_NONE;
    }
    Made *made = PyMem_Calloc(1, sizeof(Made));
    PyObject *capsule = made == NULL ? PyErr_NoMemory() : PyCapsule_New(made, NULL, free_made);
    if (capsule == NULL) {
        PyMem_Free(made);
        return NULL;
    }
    made->call.function = function;
    PyObject *own = NULL;
    for (int k = 0; k < CAD_LENT_COUNT; k++) {
        const CadLentName *const asked = &cad_lent_names[k];
        PyUFuncGenericFunction loop;
        if (!cad_loop_over_numbers(PyTuple_GET_ITEM(lent, k), asked->arity, 1,
                                   asked->kind == 'd' ? 0 : ~0U, &loop,
                                   &made->call.lent[k].data)) {
            PyErr_Format(PyExc_RuntimeError, "scipy.special.%s has no loop over numbers",
                         asked->name);
            Py_DECREF(capsule);
            return NULL;
        }
        made->call.lent[k].loop = (CadStackLoop *)loop;
        own = strcmp(asked->name, name) == 0 ? PyTuple_GET_ITEM(lent, k) : own;
    }
    const int n = add_loops(made, own);
    PyObject *ufunc =
        PyUFunc_FromFuncAndData(made->loops, made->data, made->types, n, function->arity, 1,
                                PyUFunc_None, function->name, NULL, 0);
    if (ufunc == NULL) {
        Py_DECREF(capsule);
        return NULL;
    }
    ((PyUFuncObject *)ufunc)->obj = capsule; /* as long as the ufunc lives */
    return ufunc;
}

PyObject *cad_names_of_lent(void) {
    PyObject *names = PyTuple_New(CAD_LENT_COUNT);
    for (int k = 0; names != NULL && k < CAD_LENT_COUNT; k++) {
        PyObject *name = PyUnicode_FromString(cad_lent_names[k].name);
        if (name == NULL) {
            Py_CLEAR(names);
            break;
        }
        PyTuple_SET_ITEM(names, k, name);
    }
    return names;
}
