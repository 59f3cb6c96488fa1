/* What a Var and a Dual are: their layout, their types, and how to tell what an object is. All
 * files know this, and this knows none of them; of the core it needs the tape alone.
 *
 * Everything in these folders runs under the GIL, and knows no formula: values and partials are
 * those of src/table. */
#ifndef CADIFF_OBJECTS_TYPES_H
#define CADIFF_OBJECTS_TYPES_H

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

#include "tape/entries.h"

/* What fast paths read is reached at once, not through a table of addresses. */
#ifdef __GNUC__
#define CAD_HIDDEN __attribute__((visibility("hidden")))
#else
#define CAD_HIDDEN
#endif

/* What a function answers that is no new reference, or NULL without an exception. */
typedef PyObject CadPointer;

/* --- Var --- */

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
    CAD_CELL = 32,    /* a view of no axes, as NumPy's 0-d arrays: assignments are seen in it */
    CAD_SINGLE = 64,  /* of float32: the numbers are floats, kept as doubles. Of no axes, and no
                       * CAD_CELL, it is one number, as NumPy's float32 is */
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
CAD_HIDDEN extern PyTypeObject CadVar_Type;
CAD_HIDDEN extern PyTypeObject CadVarArray_Type;

/* --- Dual --- */

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
    uint16_t kind;
    uint16_t depth; /* of components that are numbers themselves: levels of Duals, this one too */
} CadDual;

/* What an operation costs is multiplied by two to four with each level of Duals of Duals: those
 * beyond these would not end, and whoever goes through components may do so by recursion. */
enum { CAD_MOST_LEVELS = 20 };

CAD_HIDDEN extern PyTypeObject CadDual_Type;
CAD_HIDDEN extern PyTypeObject CadDualArray_Type; /* of kind CAD_DUAL_ARRAY, and no other */

/* --- what an object is --- */

#define CAD_VAR(object) ((CadVar *)(object))
#define CAD_DUAL(object) ((CadDual *)(object))
#define CAD_IS_TYPE(object, type) Py_IS_TYPE((PyObject *)(object), &type)
#define CAD_IS_VAR(object)                                                                        \
    (CAD_IS_TYPE(object, CadVar_Type) || CAD_IS_TYPE(object, CadVarArray_Type))
#define CAD_IS_VAR_ARRAY(object) CAD_IS_TYPE(object, CadVarArray_Type)
#define CAD_IS_SCALAR(object)                                                                     \
    (CAD_IS_TYPE(object, CadVar_Type) && CAD_VAR(object)->kind == CAD_SCALAR)
#define CAD_IS_DUAL(object)                                                                       \
    (CAD_IS_TYPE(object, CadDual_Type) || CAD_IS_TYPE(object, CadDualArray_Type))
#define CAD_IS_DUAL_ARRAY(object) CAD_IS_TYPE(object, CadDualArray_Type)

/* A float, or a NumPy float64, which has the same layout. */
#define CAD_IS_FLOAT(object)                                                                      \
    (PyFloat_CheckExact(object) || CAD_IS_TYPE(object, PyDoubleArrType_Type))

#define CAD_IS_BOOL(object) (PyBool_Check(object) || PyArray_IsScalar(object, Bool))

#endif
