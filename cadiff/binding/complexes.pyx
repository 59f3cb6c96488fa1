"""Complex numbers with derivatives: two real numbers side by side.

Code for real numbers knows nothing of these: an operation on a complex number is some operations on
its parts, each a float, an array of floats, a Var or a Dual. A part that is a float 0.0 is exactly
zero, whatever shape the other one has; it absorbs in products. Plain arrays are taken apart, and
put together. complex_arithmetic.pyx has the operators. Modules that know NumPy's functions and protocols register these here.
"""

from functools import partial
from weakref import ref as weak_reference

import numpy as np

cimport cython
from cpython.float cimport PyFloat_AS_DOUBLE
from cpython.object cimport Py_EQ, Py_GE, Py_GT, Py_LE, Py_LT, Py_NE
from libc.math cimport signbit
from libc.string cimport memcmp

from . cimport c_numpy as cnp
from .c_numbers cimport *
from .generated.callbacks cimport cad_complex_add, cad_complex_compare, cad_complex_divide
from .generated.callbacks cimport cad_complex_matmul, cad_complex_multiply, cad_complex_subtract
from .generated.entries cimport *

cdef object hooks = None  # the functions that are written in Python: see operations/complexes.py


# --- parts ---------------------------------------------------------------------------------------

cpdef bint is_nothing(object x) noexcept:
    """Whether a part is exactly zero; operations keep its sign."""
    return CAD_IS_FLOAT(x) and PyFloat_AS_DOUBLE(x) == 0.0


cdef bint is_small(object re, object im):
    """Whether two parts are those of a complex64: of float32, but for a number of Python's."""
    if cad_is_single(re):
        return cad_is_single(im) or type(im) is float
    return type(re) is float and cad_is_single(im)


cdef bint is_small_array(object x):
    return cnp.PyArray_Check(x) and cnp.PyArray_TYPE(x) == cnp.NPY_CFLOAT


cdef object in_complex64(object z):
    """Plain complex numbers in single precision; no warning tells of what becomes infinite."""
    with np.errstate(over="ignore"):
        return np.asarray(z).astype(np.complex64)[()]


cdef object own(object x):
    """A part as that of another number: what is assigned to the one must not reach the other."""
    return +x if cad_ndim(x) > 0 or CAD_IS_VAR_ARRAY(x) or CAD_IS_DUAL_ARRAY(x) else x


cdef tuple both_parts(object x):
    """The parts of a plain array, in its precision."""
    re, im = both_doubles(x)
    return (cad_narrowed(re), cad_narrowed(im)) if is_small_array(x) else (re, im)


cdef tuple both_doubles(object x):
    """The parts of a plain array, of float64."""
    cdef cnp.ndarray array = cnp.cast_in_order(x, cnp.NPY_CDOUBLE)
    cdef int ndim = cnp.PyArray_NDIM(array)
    cdef double *both = cnp.doubles(array)
    if ndim == 0:
        return both[0], both[1]
    re = cnp.PyArray_SimpleNew(ndim, cnp.PyArray_DIMS(array), cnp.NPY_DOUBLE)
    im = cnp.PyArray_SimpleNew(ndim, cnp.PyArray_DIMS(array), cnp.NPY_DOUBLE)
    cad_pairs_split(both, cnp.doubles(re), cnp.doubles(im), cnp.PyArray_SIZE(array))
    return re, im


cdef bint is_one_zero(const double *part, Py_ssize_t size):
    """Whether numbers are zeros of one sign, and nothing else."""
    cdef Py_ssize_t i
    for i in range(size):
        if part[i] != 0.0 or signbit(part[i]) != signbit(part[0]):
            return False
    return size > 0


cdef tuple plain_parts(object x):
    """The parts of a plain array, one of which is exactly zero if it is so everywhere."""
    re, im = both_doubles(x)
    if cad_ndim(re) == 0:
        return both_parts(x)
    if is_one_zero(cnp.doubles(im), cnp.PyArray_SIZE(im)):
        return both_parts(x)[0], float(im.flat[0])
    if is_one_zero(cnp.doubles(re), cnp.PyArray_SIZE(re)):
        return float(re.flat[0]), both_parts(x)[1]
    return both_parts(x)


cdef bint are_alike(object re, object im):
    """Whether two numbers have one shape."""
    cdef CadView *first
    cdef CadView *second
    cdef int ndim = cad_ndim(re)
    if ndim != cad_ndim(im):
        return False
    if ndim == 0:
        return True
    if cnp.PyArray_Check(re) and cnp.PyArray_Check(im):
        return cnp.PyArray_CompareLists(cnp.PyArray_DIMS(re), cnp.PyArray_DIMS(im), ndim)
    if not (CAD_IS_VAR(re) and CAD_IS_VAR(im)):
        return shape_of(re) == shape_of(im)
    first, second = CAD_VAR(re).view, CAD_VAR(im).view
    return memcmp(CAD_SHAPE(first), CAD_SHAPE(second), ndim * sizeof(Py_ssize_t)) == 0


cdef object joined_parts(object re, object im):
    """The complex array of plain parts of one shape."""
    cdef cnp.ndarray first = cnp.in_order(re, cnp.NPY_DOUBLE)
    cdef cnp.ndarray second = cnp.in_order(im, cnp.NPY_DOUBLE)
    cdef cnp.ndarray z = cnp.PyArray_SimpleNew(
        cnp.PyArray_NDIM(first), cnp.PyArray_DIMS(first), cnp.NPY_CDOUBLE
    )
    cad_pairs_join(cnp.doubles(z), cnp.doubles(first), cnp.doubles(second), cnp.PyArray_SIZE(z))
    return in_complex64(z) if is_small(re, im) else z


# --- both parts as one array ---------------------------------------------------------------------

# An operation that makes both parts puts them in one array, along its first axis.

cdef object half_of(object both, bint second):
    """One of the two parts that stand in an array."""
    cdef CadView *view = CAD_VAR(both).view
    cdef Py_ssize_t slot = CAD_VAR(both).slot
    if second:
        slot += CAD_STRIDES(view)[0]
    return cad_var_view(
        CAD_VAR(both).tape, <CadSlot>slot, view.ndim - 1, CAD_SHAPE(view) + 1,
        CAD_STRIDES(view) + 1, view.flags,
    )


cdef bint are_views(object re, object im, object of_re, object of_im):
    """Whether two arrays are views of others, taken in the same way."""
    cdef size_t low, high
    if not (CAD_IS_VAR_ARRAY(re) and CAD_IS_VAR_ARRAY(im)):
        return False
    cad_var_bounds(CAD_VAR(of_re), &low, &high)
    return (
        low <= CAD_VAR(re).slot <= high
        and CAD_VAR(im).slot - CAD_VAR(re).slot == CAD_VAR(of_im).slot - CAD_VAR(of_re).slot
    )


# --- complex numbers -----------------------------------------------------------------------------

def register_complex(functions) -> None:
    """Tell what is no operator: a module with functions of complex numbers."""
    global hooks
    hooks = functions


cdef public bint cad_is_complex(object x):
    return is_complex(x)


cdef bint is_complex(object x):
    """Whether something is a complex number or an array of them, with derivatives or without."""
    if isinstance(x, Complex) or isinstance(x, complex):
        return True
    if cnp.PyArray_Check(x):
        return cnp.PyTypeNum_ISCOMPLEX(cnp.PyArray_TYPE(x))
    return issubclass(type(x), np.complexfloating)


cpdef tuple parts_of(x):  #: Any
    """Real and imaginary part of any number; the imaginary one of a real number is 0.0."""
    if isinstance(x, Complex):
        return (<Complex>x).re, (<Complex>x).im
    if is_number(x) or CAD_IS_FLOAT(x) or cad_is_single(x):
        return x, 0.0
    if type(x) is np.complex64:
        return x.real, (x.imag if x.imag else float(x.imag))
    if isinstance(x, complex) or issubclass(type(x), np.complexfloating):
        return float(x.real), float(x.imag)
    if not cnp.PyArray_Check(x):
        if issubclass(type(x), (int, np.integer, np.floating, np.bool_)):  # a bool, too
            return float(x), 0.0
        return None
    cad_check_array(x)
    if cnp.PyTypeNum_ISCOMPLEX(cnp.PyArray_TYPE(x)):
        return plain_parts(x)
    if cnp.PyArray_TYPE(x) == cnp.NPY_OBJECT or x.dtype.kind not in "biuf":
        return None
    if cnp.PyArray_NDIM(x) == 0:
        return float(x), 0.0
    return x.astype(np.float32 if x.itemsize < 4 else np.float64), 0.0  # as NumPy promotes it


cpdef tuple whole_parts_of(x):  #: tuple[Any, Any]
    """Both parts of any number, to compute with: neither of them is left out."""
    if isinstance(x, Complex):
        return (<Complex>x).whole()
    if cnp.PyArray_Check(x) and cnp.PyTypeNum_ISCOMPLEX(cnp.PyArray_TYPE(x)):
        return both_parts(x)
    parts = parts_of(x)
    if parts is None:
        return None
    if cad_ndim(parts[0]) == 0:
        return parts[0], cad_narrowed(parts[1]) if cad_is_single(parts[0]) else parts[1]
    return parts[0], np.full(shape_of(parts[0]), parts[1], np.dtype(parts[0].dtype))


cdef object complex_of(object re, object im):
    """The complex number of two parts: plain if both are, and of the shape to which they are
    broadcast."""
    cdef Complex number
    cdef int ndim = max(cad_ndim(re), cad_ndim(im))
    if not is_number(re) and not is_number(im):
        if ndim == 0:
            return in_complex64(complex(re, im)) if is_small(re, im) else complex(re, im)
        if are_alike(re, im):
            return joined_parts(re, im)
        kind = np.complex64 if is_small(re, im) else np.complex128
        plain = np.empty(np.broadcast_shapes(shape_of(re), shape_of(im)), dtype=kind)
        plain.real, plain.imag = re, im
        return plain
    if not is_nothing(re) and not is_nothing(im) and not are_alike(re, im):
        lengths = np.broadcast_shapes(shape_of(re), shape_of(im))
        zeros = np.zeros(lengths, np.float32 if is_small(re, im) else np.float64)
        if shape_of(re) != lengths:
            re = re + zeros
        if shape_of(im) != lengths:
            im = im + zeros
    if cad_is_single(re) != cad_is_single(im) and not is_small(re, im):
        re, im = cad_widened(re), cad_widened(im)
    number = ComplexArray.__new__(ComplexArray) if ndim > 0 else Complex.__new__(Complex)
    number.re, number.im = re, im
    return number


def make_complex(re, im):
    """The complex number of two real ones, with derivatives or without, of one shape or 0.0."""
    return complex_of(re, im)


def open_parts_of(z) -> tuple[Any, Any]:
    """Both parts of an array of complex numbers, to be assigned to; TypeError if it is none."""
    if not isinstance(z, ComplexArray):
        raise TypeError(
            f"complex numbers with derivatives are not written to a {type(z).__name__}: make the "
            "array with cadiff.numpy.zeros(shape, complex)"
        )
    (<ComplexArray>z).open()
    return (<Complex>z).re, (<Complex>z).im


def note_view(Complex z, view, change) -> None:
    """Have it known that `view`, or each item of a list, is a view: what `change` makes of a part."""
    if z.is_open():
        return
    if not isinstance(view, (list, tuple)):
        z.followed(view, change)
        return
    for k, item in enumerate(view):
        z.followed(item, partial(_item_of, change, k))


def _item_of(change, k, part):
    return change(part)[k]


cdef bint gives_copy(object key):
    """Whether an index is known to give no view: one of arrays."""
    if isinstance(key, tuple):
        return any([gives_copy(item) for item in key])
    return isinstance(key, (list, np.ndarray))


# --- both parts at a time ------------------------------------------------------------------------

cdef object of_both(object both):
    """The complex array of both parts, which stand in one array."""
    cdef Complex number = ComplexArray.__new__(ComplexArray)
    number.re, number.im = half_of(both, False), half_of(both, True)
    number.is_joined = True
    return number


cdef object like_parts(object z, object view):
    """A view of a complex number; its parts stand in one array if those of the number do."""
    cdef Complex original = z, result
    if original.is_joined and isinstance(view, ComplexArray):
        result = view
        result.is_joined = cad_ndim(result.re) < MOST_AXES and are_views(
            result.re, result.im, original.re, original.im
        )
    return view


# --- operators -----------------------------------------------------------------------------------

COMPLEX_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: cad_complex_add(x, y),
    "subtract": lambda x, y: cad_complex_subtract(x, y),
    "multiply": lambda x, y: cad_complex_multiply(x, y),
    "divide": lambda x, y: cad_complex_divide(x, y),
}
cdef dict OPERATOR_OF = {
    **{getattr(np, name): function for name, function in COMPLEX_OPERATORS.items()},
    np.matmul: lambda x, y: cad_complex_matmul(x, y),
}


cdef inline object taken(object part, object key):
    """What stands at an index of a part."""
    if is_nothing(part):
        return part
    return part[key] if is_number(part) else np.asarray(part)[key]


def _at_index(key, part):
    return taken(part, key)


cdef dict ORDERS = {
    Py_LT: "less", Py_LE: "less_equal", Py_GT: "greater", Py_GE: "greater_equal",
}


@cython.c_api_binop_methods(True)  # which take operands in their order, whichever is a Complex
cdef class Complex:
    """A complex number, or an array of them, that carries derivatives.

    It is what operations on Vars and Duals give where complex numbers come in, and what f gets for a
    complex argument. `real` and `imag` are the two real numbers that it consists of, Vars or Duals.
    It has the operators, methods and attributes of NumPy's complex numbers and arrays. Derivatives
    by complex numbers follow autograd and JAX: the gradient of a real f is df/dx - i df/dy.

    >>> import cadiff, numpy as np
    >>> z = cadiff.Var(3.0 + 4.0j)
    >>> abs(z).backward()
    >>> z.grad
    (0.6-0.8j)
    """

    def __init__(self):
        raise TypeError("complex numbers are made by Var(1 + 2j), Dual(1 + 2j, 1j), x + 1j * y")

    cdef tuple whole(self):
        """Both parts, neither of them left out."""
        lengths = self.shape
        if is_nothing(self.re) and lengths != ():
            return np.full(lengths, self.re, np.dtype(self.im.dtype)), self.im
        if is_nothing(self.im) and lengths != ():
            return self.re, np.full(lengths, self.im, np.dtype(self.re.dtype))
        return self.re, self.im

    # --- what it is

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return shape_of(self.im if is_nothing(self.re) else self.re)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return cad_ndim(self.im if is_nothing(self.re) else self.re)

    @property
    def size(self) -> int:
        """Number of elements."""
        cdef Py_ssize_t size = 1
        for length in self.shape:
            size *= length
        return size

    @property
    def dtype(self) -> np.dtype[np.complex128]:
        """complex128 or complex64."""
        return np.dtype(np.complex64 if is_small(self.re, self.im) else np.complex128)

    @property
    def itemsize(self) -> int:
        """Bytes of the value of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of the values of all elements."""
        return self.itemsize * self.size

    @property
    def value(self):
        """The value without derivatives: a complex, or a fresh array."""
        return complex_of(hooks.value(self.re), hooks.value(self.im))

    def item(self, *index):
        """An element, with its derivative; of constants a complex."""
        key = cad_index_of_item(self, index)
        number = self[key] if key else complex_of(own(self.re), own(self.im))
        plain = hooks.constants(number)
        return number if plain is None else complex(plain)

    def __complex__(self) -> NoReturn:
        plain = hooks.constants(self)
        if plain is not None and np.size(plain) == 1:
            return complex(np.reshape(plain, ())[()])
        raise TypeError(
            "a Complex does not become a plain number by itself, because that would drop its "
            "derivative: write cadiff.exp(z) instead of cmath.exp(z), cadiff.value(z) for the value; "
            "an array made by cadiff.numpy.zeros(n, complex) can hold it"
        )

    def __float__(self) -> NoReturn:
        raise TypeError(
            "a Complex is no real number: take z.real, z.imag or abs(z), which keep the derivative"
        )

    def __int__(self) -> NoReturn:
        self.__float__()

    def __index__(self) -> NoReturn:
        self.__float__()

    def __hash__(self):
        raise TypeError("a Complex is not hashable: it stands for a number that may change")

    def __bool__(self) -> bool:
        if self.ndim > 0 and self.size != 1:
            raise ValueError(
                f"the truth value of a Complex of {self.size} elements is ambiguous: use .any() or "
                ".all() of a comparison"
            )
        return bool(self.re != 0.0) or bool(self.im != 0.0)

    def __repr__(self):
        return f"Complex({self.value!r})"

    def __str__(self):
        return str(self.value)

    def __format__(self, how: str) -> str:
        return format(self.value, how)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo) -> Self:
        return self

    def __reduce_ex__(self, protocol):
        plain = hooks.constants(self)
        if plain is not None:
            is_single = isinstance(plain, complex)
            return (complex, (plain.real, plain.imag)) if is_single else plain.__reduce_ex__(protocol)
        raise TypeError(
            "a Complex cannot be pickled: it belongs to a recording of this thread; take "
            "cadiff.value(z)"
        )

    # --- derivatives

    @property
    def grad(self):
        """The gradient that backward has left: df/dx - i df/dy."""
        re, im = self.whole()
        return complex_of(hooks.grad(re), 0.0 - hooks.grad(im))

    def backward(self, seed=None) -> None:
        """Add the derivatives of Re(seed * self) to the gradients of the leaves."""
        if seed is None:
            raise TypeError(
                "backward of a complex number wants a seed: y.backward(seed) adds the derivatives of "
                "the real part of seed * y; or take y.real, y.imag or abs(y)"
            )
        hooks.backward(self.whole(), seed)

    def zero_grad(self) -> None:
        """Set the gradient to 0."""
        hooks.zero_grad(self.whole())

    @property
    def primal(self):
        """The value, of a number of forward mode."""
        return complex_of(hooks.primal(self.re), hooks.primal(self.im))

    @property
    def tangent(self):
        """The derivative along the direction, of a number of forward mode."""
        re, im = self.whole()
        return complex_of(hooks.tangent(re), hooks.tangent(im))

    @property
    def parents(self) -> tuple[Any, ...]:
        """The numbers that it was computed from; () for a leaf."""
        return hooks.parents(self.whole())

    # --- parts

    @property
    def real(self):
        """The real part."""
        return self.view()[0]

    @real.setter
    def real(self, number):
        self.writable().re[...] = number

    @property
    def imag(self):
        """The imaginary part."""
        return self.view()[1]

    @imag.setter
    def imag(self, number):
        self.writable().im[...] = number

    cdef ComplexArray writable(self):
        """Itself, both parts of which can be assigned to."""
        if not isinstance(self, ComplexArray):
            raise AttributeError("a part of a single number cannot be set: write z.real + 1j * y")
        (<ComplexArray>self).open()
        return self

    def view(self) -> tuple[Any, Any]:
        """Both parts, each of which can be looked at, and, if it is no exact zero, assigned to."""
        re, im = self.whole()
        if self.ndim == 0:
            return re, im
        for part, whole in ((self.re, re), (self.im, im)):
            if is_nothing(part):
                whole.flags.writeable = False
                self.seen = [seen for seen in self.seen or () if seen() is not None]
                self.seen.append(weak_reference(whole))
            elif not is_number(part):
                self.is_given = True
        return re, im

    cdef bint is_open(self):
        """Whether both parts can be assigned to."""
        return is_number(self.re) and is_number(self.im)

    cdef object followed(self, object view, object change):
        """A view, whose parts are replaced when those of this one are; `change` makes them."""
        cdef bint are_arrays = isinstance(self, ComplexArray) and isinstance(view, ComplexArray)
        if are_arrays and view is not self and not self.is_open():
            (<Complex>view).owner, (<Complex>view).change = self, change
            if self.views is None:
                self.views = []
            elif len(self.views) % 64 == 63:
                self.views = [seen for seen in self.views if seen() is not None]
            self.views.append(weak_reference(view))
        return view

    cdef bint is_seen(self) except -1:
        """Whether somebody has a part that is to be replaced."""
        if self.is_given or any([seen() is not None for seen in self.seen or ()]):
            return True
        for known in self.views or ():
            view = known()
            if view is not None and (<Complex>view).is_seen():
                return True
        return False

    cdef int spread(self, object re, object im) except -1:
        """Have parts that can be assigned to, and let views have theirs of these."""
        cdef Complex view
        self.re, self.im = re, im
        for known in self.views or ():
            view = known()
            if view is not None:
                view.spread(
                    view.re if is_number(view.re) else view.change(re),
                    view.im if is_number(view.im) else view.change(im),
                )
        self.owner = self.change = self.views = self.seen = None
        return 0

    def conjugate(self):
        """The complex conjugate."""
        return complex_of(own(self.re), -self.im)

    def conj(self):
        """The complex conjugate."""
        return self.conjugate()

    def by_parts(self, change: Callable[[Any], Any]):
        """`change(part)` of both parts, of which a view is taken: it is linear."""
        view = complex_of(
            self.re if is_nothing(self.re) else change(self.re),
            self.im if is_nothing(self.im) else change(self.im),
        )
        return self.followed(like_parts(self, view), change)

    def __getitem__(self, key):
        result = complex_of(taken(self.re, key), taken(self.im, key))
        if self.is_open() or not isinstance(result, ComplexArray) or gives_copy(key):
            return like_parts(self, result)
        return self.followed(result, partial(_at_index, key))

    # --- operators

    def __add__(x, y):
        return cad_complex_add(x, y)

    def __sub__(x, y):
        return cad_complex_subtract(x, y)

    def __mul__(x, y):
        return cad_complex_multiply(x, y)

    def __truediv__(x, y):
        return cad_complex_divide(x, y)

    def __pow__(base, exponent, modulus):
        if modulus is not None:
            raise TypeError("pow() of a number with a derivative takes no modulus")
        return hooks.power(base, exponent)

    def __matmul__(x, y):
        return cad_complex_matmul(x, y)

    def __neg__(self):
        return complex_of(-self.re, -self.im)

    def __pos__(self):
        return complex_of(own(self.re), own(self.im))

    def __abs__(self):
        return hooks.absolute(self)

    def __richcmp__(self, other, int how):
        if how == Py_EQ or how == Py_NE:
            return cad_complex_compare(self, other, how == Py_EQ)
        return hooks.ordered(ORDERS[how], self, other)

    def __array_ufunc__(self, ufunc, method: str, *inputs, **kwargs):
        if not kwargs and method == "__call__":
            operator = OPERATOR_OF.get(ufunc)
            result = NotImplemented if operator is None else operator(*inputs)
            if result is not NotImplemented:
                return result
        return hooks.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function, types, args, kwargs):
        return hooks.function(function, args, kwargs)

    def __array__(self, dtype=None, copy=None):
        plain = hooks.constants(self)
        if plain is not None:  # for reading: what is written would be lost
            array = np.array(plain, dtype=dtype)
            array.flags.writeable = False
            return array
        advice = hooks.advice()
        raise TypeError(
            NO_ELEMENT
            + (advice if "cadiff.array(" in advice else "cadiff.array([...]) holds such numbers")
            + (f"; {advice}" if advice and "cadiff.array(" not in advice else "")
        )

    def __getattr__(self, name: str):
        return hooks.method(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *hooks.METHODS})


cdef str NO_ELEMENT = (
    "a complex number with a derivative does not become an element of an array of objects, where "
    "NumPy would take it for a real one: "
)


cdef public int cad_check_element(object element) except -1:
    if isinstance(element, Complex):
        raise TypeError(
            NO_ELEMENT + "make one number of the array before, cadiff.array([...])"
        )
    return 0


cdef class ComplexArray(Complex):
    """An array of complex numbers that carries derivatives: see Complex."""

    @property
    def __class__(self):
        return cad_class_of(self)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __setitem__(self, key, value) -> None:
        parts = parts_of(value)
        if parts is None:
            parts = parts_of(hooks.joined(value))
        if parts is None:
            raise TypeError(
                "what is assigned to an array of complex numbers is a number or an array of numbers, "
                f"not {type(value).__name__}"
            )
        self.open()
        self.re[key] = parts[0]
        self.im[key] = parts[1]

    @property
    def flat(self):
        return hooks.method(self, "flat")

    @flat.setter
    def flat(self, numbers):
        self.flat[...] = numbers

    cdef int open(self) except -1:
        """Have both parts such that numbers with derivatives can be assigned to them."""
        if self.is_open():
            return 0
        owner = self.owner  # which this refers to no longer once it is open
        if owner is not None:
            (<ComplexArray>owner).open()
        if self.is_open():
            return 0
        if self.is_seen():
            raise ValueError(
                "an array of complex numbers one part of which is constant cannot be assigned to "
                "while z.real or z.imag of it is in use: assign to a copy, z = z.copy()"
            )
        re, im = self.whole()
        return self.spread(
            re if is_number(re) else hooks.opened(re), im if is_number(im) else hooks.opened(im)
        )

    def copy(self, order="C") -> Self:
        """A copy, which can be assigned to."""
        cdef ComplexArray copied = ComplexArray.__new__(ComplexArray)
        re, im = self.whole()
        copied.re = re.copy() if is_number(re) else hooks.opened(re)
        copied.im = im.copy() if is_number(im) else hooks.opened(im)
        return copied

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    cdef object in_place(self, result):
        if result is NotImplemented or cad_binds_anew():
            return result
        if shape_of(result) != self.shape and np.broadcast_shapes(
            np.shape(result), self.shape
        ) != self.shape:
            raise ValueError(
                f"an array of shape {self.shape} cannot take a result of shape {np.shape(result)}: "
                "write z = z + w"
            )
        self[...] = result
        return self

    def __iadd__(self, other) -> Self:
        return self.in_place(cad_complex_add(self, other))

    def __isub__(self, other) -> Self:
        return self.in_place(cad_complex_subtract(self, other))

    def __imul__(self, other) -> Self:
        return self.in_place(cad_complex_multiply(self, other))

    def __itruediv__(self, other) -> Self:
        return self.in_place(cad_complex_divide(self, other))

    def __ipow__(self, exponent) -> Self:
        return self.in_place(hooks.power(self, exponent))

    def __imatmul__(self, other) -> Self:
        return self.in_place(cad_complex_matmul(self, other))


def is_complex_number(x) -> bool:
    """Whether something is a complex number or an array of them, with derivatives or without."""
    return is_complex(x)


cdef object complex_function(object original, tuple args, dict kwargs):
    """What one of NumPy's functions comes to, one argument of which is complex."""
    return hooks.function(original, args, kwargs)


cdef public object cad_complex_var(object value):
    """Var(value) of complex numbers."""
    return hooks.var(value)


cdef public object cad_complex_dual(object primal, object tangent):
    """Dual(primal, tangent), one of which is complex."""
    return hooks.dual(primal, tangent)
