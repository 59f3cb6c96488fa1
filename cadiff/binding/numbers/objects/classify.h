/* What an object is to an operation. */
#ifndef CADIFF_OBJECTS_CLASSIFY_H
#define CADIFF_OBJECTS_CLASSIFY_H

#include "numbers/objects/types.h"

/* How an object takes part in an operation. */
typedef enum CadClass {
    CAD_PLAIN,       /* a float, int or NumPy scalar: *value is set */
    CAD_VAR_CLASS,   /* a scalar Var: *value is set */
    CAD_DUAL_CLASS,  /* a scalar Dual */
    CAD_ARRAY_CLASS, /* an ndarray, or a Var or Dual that holds an array */
    CAD_FOREIGN,     /* anything else */
} CadClass;

/* What cad_classify answers for all but floats, Vars and Duals. */
int cad_classify_other(PyObject *object, double *value);

/* Returns -1 with an exception if the object is a number but out of range. */
static inline int cad_classify(PyObject *object, double *value) {
    if (PyFloat_Check(object)) {
        *value = PyFloat_AS_DOUBLE(object);
        return CAD_PLAIN;
    }
    if (CAD_IS_VAR(object)) {
        *value = CAD_VAR(object)->value;
        return CAD_IS_VAR_ARRAY(object) ? CAD_ARRAY_CLASS : CAD_VAR_CLASS;
    }
    if (CAD_IS_DUAL(object)) {
        return CAD_DUAL(object)->kind == CAD_DUAL_ARRAY ? CAD_ARRAY_CLASS : CAD_DUAL_CLASS;
    }
    return cad_classify_other(object, value);
}

/* Whether a number or array, with derivatives or without, is one of float32. */
bool cad_is_single(PyObject *object);

/* Whether it is a single number, though an array to the types: one of float32. */
bool cad_is_single_number(PyObject *object);

/* Whether it is a view of no axes, in which assignments are seen. */
bool cad_is_cell(PyObject *object);

/* What an operand asks of the result, by NumPy's rules of promotion: numbers of Python's go along
 * with any type; float32, float16 and small whole numbers fit into float32; all else is float64.
 */
typedef enum CadPrecision { CAD_WEAK, CAD_FITS_SINGLE, CAD_FITS_DOUBLE } CadPrecision;

/* Of an array of a type, and of a plain number. */
CadPrecision cad_precision_of_type(int type);
CadPrecision cad_precision_of_number(PyObject *number);

/* Plain numbers as an array of float32, in C order: infinite where they are too large, of which no
 * warning tells. */
PyObject *cad_as_floats(PyObject *numbers);

static inline int cad_is_object_array(PyObject *object) {
    return PyArray_Check(object) && PyArray_TYPE((PyArrayObject *)object) == NPY_OBJECT;
}

/* Raise TypeError for arrays whose operations mean something else: masked ones and matrices. */
int cad_check_array(PyObject *array);

/* An array-like as an array of NumPy's, checked so. */
PyObject *cad_checked_array(PyObject *object);

/* The value of a scalar number, through all levels; nan if there is none. */
double cad_primal(PyObject *object);

/* The primal of a Dual through all levels (borrowed): a Dual of floats, or no Dual. */
CadPointer *cad_innermost(PyObject *number);

/* The number of axes of an array, with or without derivatives, and their lengths; 0 for anything
 * else. */
int cad_lengths(PyObject *object, const npy_intp **lengths);

static inline int cad_ndim(PyObject *object) {
    const npy_intp *lengths;
    return cad_lengths(object, &lengths);
}

/* What all items of a list or a tuple are: floats, float64 of NumPy's, or single numbers of any
 * kind of which some are Vars or Duals. */
typedef enum { CAD_NO_ROW, CAD_ROW_OF_FLOATS, CAD_ROW_OF_DOUBLES, CAD_ROW_OF_NUMBERS } CadRow;
CadRow cad_row_of(PyObject *items);

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

#endif
