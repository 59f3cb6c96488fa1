# What the binding sees of Var and Dual, which are C types: numbers/*.c.

from cpython.object cimport PyObject
from libc.stdint cimport uint32_t, uint64_t

from .c_entries cimport CAD_OK, CadAlong, CadOp, CadSlopes, CadSlot, CadStatus, CadTape


cdef extern from "numbers/numbers.h":
    enum:
        CAD_SCALAR
        CAD_ARRAY
        CAD_PASSIVE
        CAD_STALE
        CAD_DUAL_LANES
        CAD_DUAL_ARRAY
        CAD_PLAIN
        CAD_VAR_CLASS
        CAD_DUAL_CLASS
        CAD_ARRAY_CLASS
        CAD_INPUT
        CAD_SINGLE
        CAD_CONSTANT

    ctypedef struct CadView:
        int ndim
        uint32_t flags
        Py_ssize_t size

    ctypedef struct CadVar:
        double value
        CadView *view
        CadTape *tape
        CadSlot slot
        uint32_t kind

    ctypedef uint64_t CadTag

    ctypedef struct CadDual:
        PyObject *primal_object
        PyObject *tangent_object
        double tangent
        double *lanes
        CadTag tag
        uint32_t n_lanes
        uint32_t kind

    ctypedef struct CadState:
        int guarding, rows_lent, choosing, formulas, partial_of
        long n_refused_duals, n_refused_inputs
        int (*rule_hook)(CadTape *, size_t) noexcept
        int (*slopes_hook)(CadTape *, size_t, CadSlopes *) noexcept
        int (*second_rule_hook)(CadTape *, size_t, const CadAlong *) noexcept
        int (*dual_hook)(CadOp, PyObject *const *, object) except -1

    CadState cad_state
    int cad_raise_nested() except -1
    int cad_enter_container() except -1
    void cad_leave_container()
    CadVar *CAD_VAR(object number)
    Py_ssize_t *CAD_SHAPE(CadView *view)
    Py_ssize_t *CAD_STRIDES(CadView *view)
    CadDual *CAD_DUAL(object number)
    bint CAD_IS_VAR(object number)
    bint CAD_IS_VAR_ARRAY(object number)
    bint CAD_IS_DUAL(object number)
    bint CAD_IS_DUAL_ARRAY(object number)
    bint CAD_IS_FLOAT(object number)
    bint CAD_IS_SCALAR(object number)
    object cad_var_passive(double value)
    object cad_var_stale(object values)
    object cad_var_values(object array)
    bint cad_is_of_transform(CadTag tag)
    object cad_var_view(CadTape *tape, CadSlot slot, int ndim, const Py_ssize_t *shape,
                        const Py_ssize_t *strides, uint32_t flags)
    int cad_sweep(
        CadTape *tape, size_t begin, size_t end, size_t transient, bint accumulate
    ) except -1
    int cad_raise_status(CadStatus status) except -1
    int cad_raise_stale() except -1
    CadTape *cad_current_tape() except NULL
    void cad_desert_tape(CadTape *tape)
    void cad_rewind(CadTape *tape)
    object cad_object_partial(int op, int which, object x, object y, object z, object v)
    object cad_matmul(object left, object right)
    PyObject *cad_array_matmul(object left, object right) except? NULL
    object cad_array_kind(int op, PyObject *const *operands, int ndim, const Py_ssize_t *shape,
                          uint64_t summed)
    object cad_array_complex_matmul(object left, object right)
    object cad_array_copy(CadVar *var)
    object cad_array_sum(CadVar *var, object axis, bint keepdims)
    object cad_array_constant(CadTape *tape, object values)
    int cad_array_assign(CadVar *var, object key, object value) except -1
    int cad_array_accumulate(CadVar *target, object value) except -1
    int cad_array_add_at(CadVar *target, object indices, object value) except -1
    int cad_array_write(CadVar *target, object value) except -1
    void cad_var_freeze(CadVar *var)
    object cad_var_as_input(object var)
    object cad_var_like(const CadVar *var, CadSlot slot)
    object cad_var_slots(const CadVar *var)
    object cad_var_pick(CadVar *var, CadSlot slot)
    object cad_var_part(CadVar *var, object array)
    object cad_dual_cell(object primal, object tangent, CadTag tag)
    object cad_single(object number)
    bint cad_is_single(object number)
    bint cad_is_single_number(object number)
    object cad_narrowed(object number)
    object cad_widened(object number)
    bint cad_is_mask(object item)
    ctypedef enum CadRow:
        CAD_NO_ROW
        CAD_ROW_OF_FLOATS
        CAD_ROW_OF_DOUBLES
        CAD_ROW_OF_NUMBERS
    CadRow cad_row_of(object items)
    bint cad_is_listed(object item)
    object cad_listed_array(object listed)
    object cad_var_transient(const CadVar *var, double *buffer, int flags)
    bint cad_var_is_contiguous(const CadVar *var)
    bint cad_is_in_values(const CadTape *tape, object array)
    void cad_var_bounds(const CadVar *var, size_t *low, size_t *high)
    int cad_var_seed(CadVar *var, object seed) except -1
    object cad_var_adjoint(CadVar *var)
    object cad_record_rule(CadTape *tape, size_t number, list operands, list values)
    void cad_restore_exception(object error)
    object cad_dual_from(object primal, object tangent, CadTag tag)
    object cad_dual_primal(CadDual *dual)
    object cad_dual_tangent(CadDual *dual)
    CadTag cad_fresh_tag()
    int cad_check_alive(PyObject **numbers, Py_ssize_t n) except -1
    int cad_classify(object number, double *value) except -1
    double cad_primal(object number)
    int cad_ndim(object x)
    object plain_value "cad_plain_value"(object number)
    object cad_elements(object number)
    object cad_index_of_item(object array, tuple args)
    object cad_apply1(int op, object x)
    object cad_apply2(int op, object x, object y)
    int cad_chooses_anew()
    PyObject *cad_innermost(object number)
    CadTape *cad_guarded_tape(object number)
    void cad_read_noted(object number, const char *what)
    object cad_richcompare(object left, object right, int how)
    object cad_compare(object left, object right, int how)
    void cad_register_masks(object type)
    void cad_register_scalars(object type)
    void cad_index_arrays_by_masks(int recordings)
    void cad_forget_other_recordings(const CadTape *tape)
    void cad_register_advice(object function, object has_own)
    int cad_find_op(object ufunc) except? -2
    int cad_check_array(object array) except -1
    object cad_call(int op, PyObject *const *args, Py_ssize_t n)
    bint cad_is_sum_of_all(object function, object x)
    int cad_register(object functions, object load, object hook) except -1
    int cad_numbers_ready(object module) except -1


cdef inline int check(CadStatus status) except -1:
    """Raise what a status says that is not CAD_OK."""
    return 0 if status == CAD_OK else cad_raise_status(status)
