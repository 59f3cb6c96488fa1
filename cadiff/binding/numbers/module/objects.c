/* What NumPy's operations between objects give. NumPy takes arrays of objects for arrays of real
 * numbers: `imag` of one is 0, and `norm` sums squares. So no complex number with a derivative is
 * to become an element. Where NumPy makes an array of a number it asks for `__array__`, which
 * raises; but it asks nobody before it stores what an operation between elements gives, such as
 * np.array([v, w]) * 1j. So its loops over objects are put behind those of this file, which do
 * what they do, and raise if such a number is among the results. */
#include "numbers/module/module.h"
#include "numbers/objects/binding.h"
#include "numbers/objects/references.h"
#include "numbers/objects/state.h"
#include "numbers/objects/types.h"

int cad_check_elements(const char *place, npy_intp n, npy_intp step) {
    const PyTypeObject *known = NULL;
    if (PyErr_Occurred()) { /* a loop that has failed leaves elements that nobody has set */
        return -1;
    }
    for (npy_intp i = 0; i < n; i++) {
        PyObject *element = *(PyObject *const *)(place + i * step);
        if (element != NULL && Py_TYPE(element) != known) {
            known = Py_TYPE(element);
            if (cad_check_element(element) < 0) {
                return -1;
            }
        }
    }
    return 0;
}

static void loop_pairs(char **data, const npy_intp *dimensions, const npy_intp *steps,
                       void *function) {
    PyUFunc_OO_O(data, dimensions, steps, function);
    const int is_reduction = data[0] == data[2] && steps[2] == 0; /* a number, not an element */
    if (!is_reduction) {
        cad_check_elements(data[2], dimensions[0], steps[2]);
    }
}

/* Of frompyfunc, and so of vectorize. */
static void loop_python(char **data, const npy_intp *dimensions, const npy_intp *steps,
                        void *made) {
    PyUFunc_On_Om(data, dimensions, steps, made);
    const PyUFunc_PyFuncData *function = made;
    for (int k = function->nin; k < function->nin + function->nout; k++) {
        if (cad_check_elements(data[k], dimensions[0], steps[k]) < 0) {
            return;
        }
    }
}

/* Dimensions: the products, rows, sums, columns. Steps: of the products, then of both operands and
 * the result within each. A single number may be the product of vectors, and no element. */
static void loop_matmul(char **data, const npy_intp *dimensions, const npy_intp *steps,
                        void *unused) {
    const char *const products = data[2]; /* NumPy's loop moves on what `data` holds */
    cad_state.matmul_of_objects(data, dimensions, steps, unused);
    const npy_intp rows = dimensions[0] * dimensions[1], columns = dimensions[3];
    for (npy_intp i = 0; i < rows && rows * columns > 1; i++) {
        const npy_intp matrix = i / dimensions[1], row = i % dimensions[1];
        cad_check_elements(products + matrix * steps[2] + row * steps[7], columns, steps[8]);
    }
}

/* Put a loop in the place of the one that a ufunc has for objects, if that is known. The ufunc,
 * which may be NULL, is taken over. */
static int put_loop(PyObject *ufunc, PyUFuncGenericFunction loop, PyUFuncGenericFunction known,
                    PyUFuncGenericFunction *former) {
    static const int objects[] = {NPY_OBJECT, NPY_OBJECT, NPY_OBJECT};
    if (ufunc != NULL && PyObject_TypeCheck(ufunc, &PyUFunc_Type)) {
        PyUFuncGenericFunction found = NULL;
        PyUFunc_ReplaceLoopBySignature((PyUFuncObject *)ufunc, loop, objects, &found);
        if (found != NULL && known != NULL && found != known) { /* somebody else's */
            PyUFunc_ReplaceLoopBySignature((PyUFuncObject *)ufunc, found, objects, NULL);
        }
        if (former != NULL) {
            *former = found;
        }
    }
    return cad_done(ufunc);
}

int cad_check_loops_over_objects(PyObject *numpy) {
    static const char *const names[] = {"add", "subtract", "multiply", "divide", "power"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        PyObject *ufunc = PyObject_GetAttrString(numpy, names[k]);
        if (put_loop(ufunc, loop_pairs, PyUFunc_OO_O, NULL) < 0) {
            return -1;
        }
    }
    if (put_loop(Py_NewRef(cad_state.numpy_matmul), loop_matmul, NULL,
                 &cad_state.matmul_of_objects) < 0) {
        return -1;
    }
    /* All ufuncs that frompyfunc makes share one table of loops. */
    PyObject *made = PyObject_CallMethod(numpy, "frompyfunc", "Oii", &PyType_Type, 1, 1);
    return put_loop(made, loop_python, PyUFunc_On_Om, NULL);
}
