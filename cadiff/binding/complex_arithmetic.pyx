"""Arithmetic of complex numbers with derivatives: sums, products, quotients and comparisons.

Each consists of operations on the parts, among which an exact zero absorbs, or is one operation on
an array of both parts. The operators of the type Complex call these functions by their names in C.
"""

from operator import matmul

import numpy as np

from cpython.float cimport PyFloat_AS_DOUBLE
from libc.math cimport copysign, signbit

from . cimport c_numpy as cnp
from .c_numbers cimport *
from .generated.entries cimport *
from .generated.tape cimport cad_tape_is_constant
from .complexes cimport (
    are_alike, Complex, complex_of, hooks, in_complex64, is_joined, is_nothing, is_number,
    is_one_zero, is_small, is_small_array, MOST_AXES, MOST_LENGTHS, of_both, own, parts_of, shape_of,
)

cdef enum:
    SMALL = 64  # numbers of a plain matrix, up to which a part of zeros costs next to nothing


# Operations of the table that have no name in the package.

def log_hypot(x, y):
    """The real part of the logarithm of x + iy."""
    return cad_apply2(CAD_OP_log_hypot, x, y)


def sqrt_parts(x, y) -> tuple[Any, Any]:
    """The real and the imaginary part of the principal root of x + iy."""
    return cad_apply2(CAD_OP_sqrt_real, x, y), cad_apply2(CAD_OP_sqrt_imag, x, y)


# --- operands ------------------------------------------------------------------------------------

def complex_in_precision(z, bint is_single):
    """A complex number with derivatives as one of complex64, or of complex128."""
    cdef Complex number = z
    if is_small(number.re, number.im) == is_single:
        return z
    if is_single:
        return complex_of(cad_narrowed(number.re), cad_narrowed(number.im))
    return complex_of(cad_widened(number.re), cad_widened(number.im))


cdef object beside(object x, object y):
    """An operand in the precision that it has beside another one: single numbers of NumPy's that
    are float64 or complex128 ask for that precision, those of Python's for none."""
    if not (isinstance(y, complex) or CAD_IS_FLOAT(y)) or type(y) is complex or type(y) is float:
        return x
    if isinstance(x, Complex):
        return complex_in_precision(x, False)
    return cad_widened(x) if CAD_IS_VAR(x) or CAD_IS_DUAL(x) else x


cdef tuple operand_parts(object x):
    """The parts of an operand, which may be a list."""
    parts = parts_of(x)
    return parts_of(hooks.joined(x)) if parts is None and isinstance(x, (list, tuple)) else parts


# --- arithmetic of parts, in which an exact zero absorbs ------------------------------------------

cdef inline bint has_sign(object x):
    return signbit(PyFloat_AS_DOUBLE(x))


# An array on the left of a number with derivatives would take the long way, by its ufunc.

cdef inline object sum_of(object x, object y):
    return y + x if is_number(y) and not is_number(x) else x + y


cdef inline object difference_of(object x, object y):
    return cad_apply2(CAD_OP_subtract, x, y) if is_number(y) and not is_number(x) else x - y


cdef object plus(object x, object y):
    if is_nothing(y) and (is_number(x) or has_sign(y)):
        return own(x)
    if is_nothing(x) and (is_number(y) or has_sign(x)):
        return own(y)
    return sum_of(x, y)


cdef object minus(object x, object y):
    if is_nothing(y) and (is_number(x) or not has_sign(y)):
        return own(x)
    return difference_of(x, y)


cdef object zero_times(object zero, object factor):
    """A product with an exact zero, which has a sign if the factor is a plain number."""
    if not CAD_IS_FLOAT(factor):
        return 0.0
    sign = copysign(1.0, PyFloat_AS_DOUBLE(zero)) * copysign(1.0, PyFloat_AS_DOUBLE(factor))
    return copysign(0.0, sign)


cdef object times(object x, object y):
    if is_nothing(x):
        return zero_times(x, y)
    if is_nothing(y):
        return zero_times(y, x)
    if CAD_IS_FLOAT(x) and PyFloat_AS_DOUBLE(x) == 1.0:
        return own(y)
    if CAD_IS_FLOAT(y) and PyFloat_AS_DOUBLE(y) == 1.0:
        return own(x)
    return y * x if is_number(y) and not is_number(x) else x * y


cdef object product_of(object product, object x, object y):
    """x times y, or, unless it is None, their product of some kind; an exact zero absorbs."""
    if product is None:
        return times(x, y)
    if is_nothing(x) or is_nothing(y):
        return 0.0
    if product is matmul and (CAD_IS_VAR_ARRAY(x) or CAD_IS_VAR_ARRAY(y)):
        return cad_matmul(x, y)
    return product(x, y)


cdef object less_product(object product, object x, object y, object z):
    """x less the product of y and z, of an x that is exactly zero without the subtraction."""
    if is_nothing(y) or is_nothing(z):
        return x
    if not is_nothing(x):
        return difference_of(x, product_of(product, y, z))
    if is_number(y) and not is_number(z):
        return product_of(product, y, -z)
    return -product_of(product, y, z) if is_number(y) else product_of(product, -y, z)


cdef object over(object x, object y):
    if is_nothing(x):
        return zero_times(x, y) if CAD_IS_FLOAT(y) else x
    return x / y


cdef object bilinear_of(object product, tuple p, tuple q):
    a, b = p
    c, d = q
    return complex_of(
        less_product(product, product_of(product, a, c), b, d),
        plus(product_of(product, a, d), product_of(product, b, c)),
    )


# --- both parts as one array ---------------------------------------------------------------------

cdef cnp.ndarray pair_of(object x):
    """A complex array as a real one of float64, with an axis in front for its parts."""
    cdef cnp.ndarray array = cnp.cast_in_order(x, cnp.NPY_CDOUBLE)
    cdef cnp.npy_intp lengths[MOST_LENGTHS]
    cdef int axis, ndim = cnp.PyArray_NDIM(array)
    cdef Py_ssize_t size = cnp.PyArray_SIZE(array)
    lengths[0] = 2
    for axis in range(ndim):
        lengths[axis + 1] = cnp.PyArray_DIMS(array)[axis]
    both = cnp.PyArray_SimpleNew(ndim + 1, lengths, cnp.NPY_DOUBLE)
    cdef double *parts = cnp.doubles(both)
    cad_pairs_split(cnp.doubles(array), parts, parts + size, size)
    return both


def pair_of_array(x):
    """A complex array as a real one, with an axis in front for real and imaginary part."""
    return cad_narrowed(pair_of(x)) if is_small_array(x) else pair_of(x)


def array_of_pair(both):
    """The complex array, or number, that `pair_of_array` has made a real one of."""
    cdef cnp.ndarray array = cnp.PyArray_FROMANY(
        both, cnp.NPY_DOUBLE, 1, 0, cnp.NPY_ARRAY_CARRAY_RO
    )
    cdef double *parts = cnp.doubles(array)
    cdef int ndim = cnp.PyArray_NDIM(array) - 1
    if ndim == 0:
        only = complex(parts[0], parts[1])
        return in_complex64(only) if cad_is_single(both) else only
    cdef cnp.ndarray z = cnp.PyArray_SimpleNew(ndim, cnp.PyArray_DIMS(array) + 1, cnp.NPY_CDOUBLE)
    cdef Py_ssize_t size = cnp.PyArray_SIZE(z)
    cad_pairs_join(cnp.doubles(z), parts, parts + size, size)
    return in_complex64(z) if cad_is_single(both) else z


cdef object span_of(object re, object im, bint flipped):
    """The array of two parts in which both stand; the imaginary one first if it is flipped."""
    cdef CadView *view = CAD_VAR(re).view
    cdef Py_ssize_t lengths[MOST_LENGTHS]
    cdef Py_ssize_t strides[MOST_LENGTHS]
    cdef Py_ssize_t step = <Py_ssize_t>CAD_VAR(im).slot - <Py_ssize_t>CAD_VAR(re).slot
    cdef CadSlot slot = CAD_VAR(im).slot if flipped else CAD_VAR(re).slot
    cdef int axis
    lengths[0], strides[0] = 2, -step if flipped else step
    for axis in range(view.ndim):
        lengths[axis + 1], strides[axis + 1] = CAD_SHAPE(view)[axis], CAD_STRIDES(view)[axis]
    return cad_var_view(CAD_VAR(re).tape, slot, view.ndim + 1, lengths, strides, view.flags)


def pair_of_joined(z):
    """Both parts of a complex array as one real array; None if they do not stand in one."""
    return span_of((<Complex>z).re, (<Complex>z).im, False) if is_joined(z) else None


def complex_of_pair(both):
    """The complex array of an array of real numbers, an axis of both parts in front."""
    if CAD_IS_VAR_ARRAY(both) and cad_ndim(both) > 1:
        return of_both(both)
    return complex_of(both[0], both[1])


def complex_of_parts(re, im):
    """The same of two results of one entry; arrays stand in one if they do so side by side.

    Constants do not, wherever they stand: each becomes active by itself."""
    cdef object z = complex_of(re, im)
    cdef Complex number
    if CAD_IS_VAR_ARRAY(re) and CAD_IS_VAR_ARRAY(im):
        number = <Complex>z
        number.is_joined = (
            number.re is re
            and number.im is im
            and cad_ndim(re) < MOST_AXES
            and CAD_VAR(re).tape == CAD_VAR(im).tape
            and CAD_VAR(im).slot == CAD_VAR(re).slot + <size_t>number.size
            and not cad_tape_is_constant(CAD_VAR(re).tape, CAD_VAR(re).slot)
            and not cad_tape_is_constant(CAD_VAR(im).tape, CAD_VAR(im).slot)
        )
    return z


# --- operations on the array in which both parts stand --------------------------------------------

cdef object whole_pair_of(object x):
    """`pair_of` an array; None if one part is exactly zero, so that it is better left out."""
    cdef cnp.ndarray both = pair_of(x)
    cdef const double *parts = cnp.doubles(both)
    cdef Py_ssize_t size = cnp.PyArray_SIZE(both) // 2
    if is_one_zero(parts, size) or is_one_zero(parts + size, size):
        return None
    return cad_narrowed(both) if is_small_array(x) else both


cdef object signs(double first, double second, int ndim):
    """A factor for either of two parts, which have so many axes."""
    cdef cnp.npy_intp lengths[MOST_LENGTHS]
    cdef int axis
    lengths[0] = 2
    for axis in range(ndim):
        lengths[axis + 1] = 1
    array = cnp.PyArray_SimpleNew(ndim + 1, lengths, cnp.NPY_DOUBLE)
    cnp.doubles(array)[0] = first
    cnp.doubles(array)[1] = second
    return array


cdef object real_form(cnp.ndarray both):
    """The matrix [[a, -b], [b, a]] of plain parts a and b."""
    cdef Py_ssize_t m = cnp.PyArray_DIMS(both)[1], n = cnp.PyArray_DIMS(both)[2]
    cdef cnp.npy_intp[2] lengths = [2 * m, 2 * n]
    cdef Py_ssize_t i, k
    matrix = cnp.PyArray_SimpleNew(2, lengths, cnp.NPY_DOUBLE)
    cdef double *parts = cnp.doubles(both)
    cdef double *upper = cnp.doubles(matrix)
    cdef double *lower = upper + 2 * m * n
    for i in range(m):
        for k in range(n):
            upper[2 * n * i + k] = lower[2 * n * i + n + k] = parts[n * i + k]
            lower[2 * n * i + k] = parts[n * (m + i) + k]
            upper[2 * n * i + n + k] = -parts[n * (m + i) + k]
    return matrix


cdef object form_of(object both):
    """The real form, in the precision of the parts."""
    form = real_form(cad_widened(both))
    return cad_narrowed(form) if cad_is_single(both) else form


cdef object product_with_form(object form, object both):
    """The parts of a product, in one array: that of a real form with parts that stand one above
    the other; None if these do not."""
    cdef CadView *view = CAD_VAR(both).view
    cdef Py_ssize_t *strides = CAD_STRIDES(view)
    cdef Py_ssize_t[3] lengths = [2 * CAD_SHAPE(view)[1], CAD_SHAPE(view)[2], 0]
    if strides[0] != CAD_SHAPE(view)[1] * strides[1]:
        return None
    tall = cad_var_view(
        CAD_VAR(both).tape, CAD_VAR(both).slot, 2, lengths, strides + 1, view.flags
    )
    product = cad_matmul(form, tall)
    view = CAD_VAR(product).view
    lengths = [2, CAD_SHAPE(view)[0] // 2, CAD_SHAPE(view)[1]]
    return cad_var_view(
        CAD_VAR(product).tape, CAD_VAR(product).slot, 3, lengths, NULL, view.flags
    )



cdef inline Py_ssize_t length_of(object both, int axis):
    """The length of an axis of an array Var, or of a plain array."""
    if CAD_IS_VAR(both):
        return CAD_SHAPE(CAD_VAR(both).view)[axis]
    return cnp.PyArray_DIMS(<cnp.ndarray>both)[axis]


cdef inline bint is_varying(object both):
    """Whether something is an array Var that is known not to be constant."""
    return CAD_IS_VAR(both) and not CAD_VAR(both).view.flags & CAD_CONSTANT


cdef object both_of(object x):
    """Both parts in one array; None if they do not stand in one, or one is exactly zero."""
    if is_joined(x):
        return span_of((<Complex>x).re, (<Complex>x).im, False)
    if not cnp.PyArray_Check(x) or not cnp.PyTypeNum_ISCOMPLEX(cnp.PyArray_TYPE(x)):
        return None
    if not 0 < cnp.PyArray_NDIM(x) < MOST_AXES:
        return None
    cad_check_array(x)
    return whole_pair_of(x)


cdef inline int ndim_of(object x):
    return cad_ndim((<Complex>x).re) if isinstance(x, Complex) else cad_ndim(x)


cdef bint has_shape_of(object x, object y):
    """Whether two arrays, one of which may be an array of complex numbers, have one shape."""
    if isinstance(x, Complex):
        x = (<Complex>x).re
    if isinstance(y, Complex):
        y = (<Complex>y).re
    return cad_ndim(x) > 0 and are_alike(x, y)


cdef object together(int op, object x, object y):
    """A sum or a difference by one operation; None if it takes two."""
    if not (is_joined(x) or is_joined(y)) or not has_shape_of(x, y):
        return None
    p, q = both_of(x), both_of(y)
    return None if p is None or q is None else of_both(cad_apply2(op, p, q))


cdef object scaled(object x, object factor):
    """A product with a number, or with a real array, of both parts at a time; None if there is
    none."""
    cdef double a, b
    cdef int ndim = ndim_of(x)
    if isinstance(factor, complex) and is_joined(x):
        a, b = factor.real, factor.imag
        if a == 0.0 and b == 0.0:
            return None
        if b == 0.0:
            return of_both(cad_apply2(CAD_OP_multiply, both_of(x), a))
        turned = span_of((<Complex>x).re, (<Complex>x).im, True)
        factors = signs(-b, b, ndim)
        if cad_is_single(turned):
            factors = cad_narrowed(factors)
        turned = cad_apply2(CAD_OP_multiply, turned, factors)
        if a == 0.0:
            return of_both(turned)
        straight = cad_apply2(CAD_OP_multiply, both_of(x), a)
        return of_both(cad_apply2(CAD_OP_add, straight, turned))
    if not CAD_IS_VAR(factor) and (
        not CAD_IS_FLOAT(factor) or is_nothing(factor) or not is_joined(x)
    ):
        return None
    if ndim == 0 or (cad_ndim(factor) > 0 and not has_shape_of(x, factor)):
        return None
    both = both_of(x)
    return None if both is None else of_both(cad_apply2(CAD_OP_multiply, both, factor))


cdef object factor_of_both(object x):
    """Both parts of a matrix in one array. Of a small plain one a part may be zero, or left out:
    so that what begins with a matrix of ones goes on with both parts at a time."""
    if cnp.PyArray_Check(x) and cnp.PyArray_TYPE(x) != cnp.NPY_OBJECT:
        if cnp.PyArray_SIZE(x) <= SMALL:
            cad_check_array(x)
            return cad_narrowed(pair_of(x)) if is_small_array(x) else pair_of(x)
    return both_of(x)


cdef object product_of_both(object x, object y):
    """A product of two matrices by operations on both parts; None if there is none."""
    if not (is_joined(x) or is_joined(y)) or ndim_of(x) != 2 or ndim_of(y) != 2:
        return None
    p, q = factor_of_both(x), factor_of_both(y)
    if p is None or q is None or not (is_varying(p) or is_varying(q)):
        return None
    if length_of(p, 2) != length_of(q, 1):
        return None
    if not (length_of(p, 1) and length_of(p, 2) and length_of(q, 2)):
        return None
    product = None if CAD_IS_VAR(p) else product_with_form(form_of(p), q)
    return of_both(cad_array_complex_matmul(p, q) if product is None else product)


# --- operators -----------------------------------------------------------------------------------

cdef object added(int op, object x, object y):
    """The sum or, by the operation, the difference of two numbers."""
    x, y = beside(x, y), beside(y, x)
    total = together(op, x, y)
    if total is not None:
        return total
    p, q = operand_parts(x), operand_parts(y)
    if p is None or q is None:
        return NotImplemented
    if op == CAD_OP_add:
        return complex_of(plus(p[0], q[0]), plus(p[1], q[1]))
    return complex_of(minus(p[0], q[0]), minus(p[1], q[1]))


cdef public object cad_complex_add(object x, object y):
    return added(CAD_OP_add, x, y)


cdef public object cad_complex_subtract(object x, object y):
    return added(CAD_OP_subtract, x, y)


cdef object zeros_of(tuple p, tuple q):
    """What a product with a zero is: of the shape to which all four parts are broadcast."""
    lengths = np.broadcast_shapes(*[shape_of(part) for part in p + q])
    small = all([cad_is_single(part) for part in p + q if cad_ndim(part) > 0])
    return np.zeros(lengths, np.complex64 if small else np.complex128) if lengths else 0j


cdef double zero_of_product(tuple p, tuple q):
    """The imaginary part of a product of two without one: on the negative axis NumPy's.

    Of real factors that are no plain numbers the sign is not asked; they count as positive.
    """
    if CAD_IS_FLOAT(p[0]):
        p, q = q, p
    if not CAD_IS_FLOAT(q[0]):
        return -0.0 if has_sign(p[1]) != has_sign(q[1]) else 0.0
    if signbit(PyFloat_AS_DOUBLE(q[0])):
        p, q = q, p
    return -0.0 if has_sign(p[1]) and not has_sign(q[1]) else 0.0


cdef public object cad_complex_multiply(object x, object y):
    x, y = beside(x, y), beside(y, x)
    product = scaled(x, y)
    if product is None:
        product = scaled(y, x)
    if product is not None:
        return product
    p, q = operand_parts(x), operand_parts(y)
    if p is None or q is None:
        return NotImplemented
    if (is_nothing(p[0]) and is_nothing(p[1])) or (is_nothing(q[0]) and is_nothing(q[1])):
        return zeros_of(p, q)
    if is_nothing(p[1]) and is_nothing(q[1]):
        return complex_of(times(p[0], q[0]), zero_of_product(p, q))
    return bilinear_of(None, p, q)


cdef object zero_of_quotient(object a, object zero, object c):
    """The imaginary part of a / c, both without one: on the negative axis NumPy's, c is -a there."""
    if CAD_IS_FLOAT(a) and not CAD_IS_FLOAT(c):
        c = -a
    return zero_times(zero, c)


cdef bint is_double(object part):
    """Whether a part is of float64, and no number of Python's, which goes along with any precision."""
    return not CAD_IS_FLOAT(part) and not cad_is_single(part)


cdef public object cad_complex_divide(object x, object y):
    """The quotient; the divisor is scaled to length 1 first, so that its square may be out of
    range."""
    x, y = beside(x, y), beside(y, x)
    p, q = operand_parts(x), operand_parts(y)
    if p is None or q is None:
        return NotImplemented
    a, b = p
    c, d = q
    if is_small(c, d) and (is_double(a) or is_double(b)):  # else it would be scaled in float32
        c, d = cad_widened(c), cad_widened(d)
    if is_nothing(a) and is_nothing(b):
        return zeros_of(p, q)
    if is_nothing(d):
        im = zero_of_quotient(a, plus(b, d), c) if is_nothing(b) else over(b, c)
        return complex_of(over(a, c), im)
    if is_nothing(c):  # -i / d times the dividend
        return complex_of(over(b, d), over(-a, d))
    length = cad_apply2(CAD_OP_hypot, c, d)
    c, d = cad_apply2(CAD_OP_hypot_ratio, c, d), cad_apply2(CAD_OP_hypot_ratio, d, c)
    return complex_of(
        over(plus(times(a, c), times(b, d)), length), over(minus(times(b, c), times(a, d)), length)
    )


def bilinear(product: Callable[[Any, Any], Any], x, y):
    """A product of real numbers, such as that of matrices, of complex ones."""
    return bilinear_of(product, parts_of(x), parts_of(y))


cdef bint are_factors(object left, object right):
    """Whether two numbers are matrices that can be multiplied."""
    return cad_ndim(left) == cad_ndim(right) == 2 and shape_of(left)[1] == shape_of(right)[0]


cdef public object cad_complex_matmul(object x, object y):
    cdef bint is_for_program = cad_chooses_anew()
    product = None if is_for_program else product_of_both(x, y)
    if product is not None:
        return product
    p, q = parts_of(x), parts_of(y)
    if p is None or q is None:
        return hooks.function(np.matmul, (x, y), {})
    if is_for_program and are_factors(p[0], q[0]) and are_factors(p[1], q[1]):
        re, im = hooks.product_of_matrices(p, q)
        return complex_of(re, im)
    return bilinear_of(matmul, p, q)


cdef public object cad_complex_compare(object x, object y, bint equal):
    p, q = operand_parts(x), operand_parts(y)
    if p is None or q is None:
        return NotImplemented
    if equal:
        return (p[0] == q[0]) & (p[1] == q[1])
    return (p[0] != q[0]) | (p[1] != q[1])


cdef public object cad_complex_operation(int op, tuple operands):
    """What an operation of the table comes to of these operands, one of them complex."""
    result = NotImplemented
    if op == CAD_OP_add:
        result = cad_complex_add(operands[0], operands[1])
    elif op == CAD_OP_subtract:
        result = cad_complex_subtract(operands[0], operands[1])
    elif op == CAD_OP_multiply:
        result = cad_complex_multiply(operands[0], operands[1])
    elif op == CAD_OP_divide:
        result = cad_complex_divide(operands[0], operands[1])
    if result is not NotImplemented:
        return result
    return hooks.operation(cad_op_info[op].name.decode(), operands)
