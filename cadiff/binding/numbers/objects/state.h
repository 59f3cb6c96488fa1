/* All that changes in these folders while the process runs, beside members of tapes and objects:
 * one struct, at one place in memory. Everything else outside of functions is constant, or a type
 * or a table of a type that CPython wants writable. The core in `src` has the loops that it
 * borrows at import, and a door that tests shut. The GIL guards all of it. */
#ifndef CADIFF_OBJECTS_STATE_H
#define CADIFF_OBJECTS_STATE_H

#include "numbers/objects/types.h"

/* What operations on any numbers ask of a type: an operation at least one of whose operands is of
 * the type (for Var: an array of it), a product of matrices, and an array as an object array of
 * its scalars or as its plain values. NULL without an exception: an operand is something else. */
typedef struct CadTypeTable {
    PyObject *(*apply)(CadOp op, PyObject *const *operands);
    PyObject *(*matmul)(PyObject *left, PyObject *right);
    PyObject *(*elements)(PyObject *array);
    PyObject *(*values)(PyObject *array);
} CadTypeTable;

typedef struct CadState {
    /* The memory of numbers, which every operation takes from (slabs.h, components.h). Free Vars
     * are linked by `tape`, Duals that were freed by `primal_object`. */
    CadVar *free_vars;
    CadDual *free_duals;
    int n_free_duals;
    struct CadSlab *slabs; /* all of them, the newest first */
    size_t n_slabs;

    /* Tapes of threads (threads.c): the thread that asked last for its tape, and this tape; tapes
     * of threads that ended while their numbers live. */
    uint64_t last_thread;
    CadTape *last_tape;
    struct CadOrphan *orphans;

    /* The last tag of a transform, in the upper half; a Dual made by hand over others takes the
     * next one up, of which there are 2**32 before it could meet the tag of another transform. */
    CadTag last_tag;

    /* Recordings that are to be replayed (recording.c), by all threads. Where none is under way,
     * nothing is asked but whether `guarding` is 0. */
    int guarding;                  /* how many there are: tapes that note guards, and how often */
    int indexing;                  /* those with masks that may index plain arrays */
    binaryfunc subscript_of_numpy; /* how such arrays are indexed, while that is exchanged */
    int rows_lent; /* rows that are views for NumPy were taken by indices that a replay computes
                    * anew: what is assigned to may not be one, nor what they were taken of */

    char of_names[64]; /* a package: modules that have names of it bind arrays anew (slots.c) */

    /* What threads are doing, counted, so that it may be nested. */
    int choosing;   /* noting in `choices` of their tapes what comparisons come to */
    int as_numpy;   /* having comparisons of single numbers answer as NumPy's do: see `as_numpy` of
                     * their tapes */
    int formulas;   /* comparing in formulas, whose equalities are kinks, not the program's */
    int quiet;      /* computing plain components of numbers: NumPy's warnings are not wanted */
    int nested;     /* within so many containers */
    int partial_of; /* the operation whose partial is being computed, for messages; or -1 */

    /* Assignments that were refused, counted to see whether there was one: of Duals to arrays that
     * are none, and to arguments of functions, which have to stay as they are. */
    long n_refused_duals;
    long n_refused_inputs;

    /* What the binding in Cython and in Python has registered; NULL before. Sweeps call the first
     * three at entries that are rules: they hand on adjoints, tell slopes, and go on to the second
     * order; 0, or -1 with an exception. `dual_hook` is there while Duals are to be looked at. */
    int (*rule_hook)(CadTape *tape, size_t entry);
    int (*slopes_hook)(CadTape *tape, size_t entry, CadSlopes *slopes);
    int (*second_rule_hook)(CadTape *tape, size_t entry, const CadAlong *along);
    int (*dual_hook)(CadOp op, PyObject *const *operands, PyObject *dual);
    PyTypeObject *mask_type;   /* what comparisons of arrays give while guards are noted */
    PyTypeObject *scalar_type; /* what stands for a single number of Python's */
    PyObject *advice;          /* says what to write where a plain number is needed */
    PyObject *has_own;         /* whether the package has the function that asks for elements */
    PyObject *array_of;        /* the array of another library's, or an error that says a way */
    PyObject *as_strided;      /* the code of NumPy's function */
    PyObject *ufunc_hook;      /* called for what is no plain operation */
    PyObject *array_functions; /* {numpy.sum: the package's sum, ...} */
    PyObject *load_functions;  /* fills them in; NULL once it has */

    /* Which function is which (functions.c): filled at import; later on ufuncs of SciPy's join
     * `op_of_function`. The last ufunc of a plain operation is remembered, with its op code. */
    PyObject *op_of_function; /* {numpy.sin: op code, ...} */
    PyObject *op_of_name;     /* {"sin": op code, ...}, with aliases */
    PyObject *last_ufunc;     /* borrowed from op_of_function */
    int last_op;

    /* Filled at import, or at first use, and the same from then on. */
    PyObject *numpy;
    PyObject *numpy_sum; /* the commonest of functions, which are not looked up */
    PyObject *numpy_matmul;
    PyUFuncGenericFunction matmul_of_objects; /* NumPy's own loop */
    PyObject *dtype;                          /* what .dtype of both types answers */
    PyObject *dtype_of_singles;               /* and of those of float32 */
    PyObject *stale_error;
    PyObject *missing_error; /* TypeError and NotImplementedError */
    PyObject *tape_key;      /* of the tape in a thread's dictionary */
    PyObject *to_numpy;      /* "to_numpy": CPython remembers the names that it was asked for */
    PyObject *dlpack;        /* "__dlpack__" */
    PyObject *name_key;      /* "__name__" */
    CadTypeTable table_of_var;
    CadTypeTable table_of_dual;
    PyObject *numpy_functions[CAD_OP_COUNT]; /* numpy.sin ...; NULL: NumPy has none */
    PyObject *own_ufuncs[CAD_OP_COUNT];      /* ufuncs over objects and doubles */
    void *loop_data[CAD_OP_COUNT][3];        /* the op code, for all loops of such a ufunc */
} CadState;

CAD_HIDDEN extern CadState cad_state;

#endif
