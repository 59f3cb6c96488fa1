"""Spectra of real numbers: the half that is computed, and the whole of which it is a half.

Along the axes that are transformed, X[-k] = conj(X[k]). The last of them is the one that is halved.
Which transform it is of is not known here.
"""

import numpy as np

from . cimport c_numpy as cnp
from .parts cimport joined_parts
from .tape cimport are_zero, MOST_AXES

cdef enum:
    MANY = 1 << 16  # numbers, from which on other threads may run meanwhile


cdef struct Axis:
    cnp.npy_intp count  # of the half
    cnp.npy_intp length  # of the whole
    cnp.npy_intp half_step
    cnp.npy_intp step
    bint is_mirrored
    bint is_halved


cdef struct Spectrum:
    int ndim
    Axis axis[MOST_AXES]
    double *half
    double *re
    double *im
    double sign


cdef int put_axes(
    Spectrum *s, int ndim, const cnp.npy_intp *half, const cnp.npy_intp *whole, tuple axes
) except -1:
    """The axes of a half and of the whole spectrum, both parts of which are in order, as is the
    half."""
    cdef cnp.npy_intp step = 1, half_step = 2
    cdef int i, halved = axes[len(axes) - 1]
    s.ndim = ndim
    for i in range(ndim - 1, -1, -1):
        s.axis[i].length, s.axis[i].count = whole[i], half[i]
        s.axis[i].is_mirrored = i in axes
        s.axis[i].is_halved = i == halved
        s.axis[i].step, s.axis[i].half_step = step, half_step
        step *= whole[i]
        half_step *= half[i]
    return 0


cdef inline cnp.npy_intp mirrored(const Axis *axis, cnp.npy_intp k) noexcept nogil:
    """Where -k is, if the axis is one of those that are transformed."""
    return axis.length - k if axis.is_mirrored and k > 0 else k


cdef void fold_row(const Spectrum *s, const Axis *axis, double *half, cnp.npy_intp here,
                   cnp.npy_intp there) noexcept nogil:
    """What `fold` does along the last axis."""
    cdef const double *re = s.re
    cdef const double *im = s.im
    cdef double sign = 0.5 * s.sign
    cdef cnp.npy_intp k, other
    for k in range(axis.count):
        other = there + mirrored(axis, k)
        half[2 * k] = 0.5 * (re[here + k] + re[other])
        half[2 * k + 1] = sign * (im[here + k] - im[other])


cdef void fold(const Spectrum *s, int i, double *half, cnp.npy_intp here,
               cnp.npy_intp there) noexcept nogil:
    """Put the symmetric part of what stands here in a whole spectrum, and at -k, into a half."""
    cdef const Axis *axis = &s.axis[i]
    cdef cnp.npy_intp k
    if i + 1 == s.ndim:
        fold_row(s, axis, half, here, there)
        return
    for k in range(axis.count):
        fold(s, i + 1, half + k * axis.half_step, here + k * axis.step,
             there + mirrored(axis, k) * axis.step)


cdef void unfold_row(const Spectrum *s, const Axis *axis, const double *half, cnp.npy_intp here,
                     cnp.npy_intp there, cnp.npy_intp first, cnp.npy_intp end) noexcept nogil:
    """What `unfold` does along the last axis, of which the bins from `first` on are inner ones."""
    cdef double *re = s.re
    cdef double *im = s.im
    cdef double sign = s.sign
    cdef cnp.npy_intp k, other
    for k in range(axis.count):
        re[here + k] = half[2 * k]
        im[here + k] = sign * half[2 * k + 1]
    for k in range(first, end):
        other = there + mirrored(axis, k)
        re[other] = half[2 * k]
        im[other] = -sign * half[2 * k + 1]


cdef void unfold(const Spectrum *s, int i, const double *half, cnp.npy_intp here,
                 cnp.npy_intp there, bint is_inner) noexcept nogil:
    """Put a half here, and the conjugate where -k is, unless that is in the half, too."""
    cdef const Axis *axis = &s.axis[i]
    cdef cnp.npy_intp first = 0, end = axis.count if is_inner else 0
    cdef cnp.npy_intp k
    if axis.is_halved:
        first, end = 1, axis.length - axis.count + 1
    if i + 1 == s.ndim:
        unfold_row(s, axis, half, here, there, first, end)
        return
    for k in range(axis.count):
        unfold(s, i + 1, half + k * axis.half_step, here + k * axis.step,
               there + mirrored(axis, k) * axis.step, first <= k < end)


def are_zeros(cnp.ndarray x):
    """Whether there are some floats in an array, and all of them are zero."""
    if not cnp.PyArray_ISCARRAY_RO(x):
        return x.size > 0 and not np.count_nonzero(x)
    return cnp.PyArray_SIZE(x) > 0 and are_zero([x])


def transformed(ufunc, tuple factors, re, im, tuple axes, tuple lengths, tuple sizes):
    """Both parts of what a generalized ufunc of rows and a factor makes of a complex array along
    axes, one after the other. The array is truncated or padded to lengths first, results are to
    sizes."""
    cdef object z = joined_parts(resized(re, axes, lengths), resized(im, axes, lengths))
    cdef int last = cnp.PyArray_NDIM(z) - 1
    cdef Py_ssize_t i
    for i in range(len(axes) - 1, -1, -1):
        if axes[i] == last:
            ufunc(z, factors[i], z)
        else:
            ufunc(z, factors[i], z, axes=[(axes[i],), (), (axes[i],)])
    return resized(z.real, axes, sizes), resized(z.imag, axes, sizes)


cdef cnp.ndarray in_order(object array, int kind):
    return cnp.PyArray_FROMANY(array, kind, 0, 0, cnp.NPY_ARRAY_CARRAY_RO)


def half_of_spectrum(re, im, tuple axes, bint conjugate):
    """The half of the symmetric part of a spectrum, (X[k] + conj(X[-k])) / 2, or its conjugate."""
    cdef Spectrum s
    cdef cnp.npy_intp lengths[MOST_AXES]
    cdef cnp.ndarray x = in_order(re, cnp.NPY_DOUBLE), y = in_order(im, cnp.NPY_DOUBLE), half
    cdef int i, ndim = cnp.PyArray_NDIM(x), halved = axes[len(axes) - 1]
    for i in range(ndim):
        lengths[i] = cnp.PyArray_DIMS(x)[i]
    lengths[halved] = lengths[halved] // 2 + 1
    half = cnp.PyArray_SimpleNew(ndim, lengths, cnp.NPY_CDOUBLE)
    put_axes(&s, ndim, lengths, cnp.PyArray_DIMS(x), axes)
    if cnp.PyArray_SIZE(half) == 0:
        return half
    s.re, s.im = <double *>cnp.PyArray_DATA(x), <double *>cnp.PyArray_DATA(y)
    s.sign = -1.0 if conjugate else 1.0
    s.half = <double *>cnp.PyArray_DATA(half)
    if cnp.PyArray_SIZE(x) < MANY:
        fold(&s, 0, s.half, 0, 0)
    else:
        with nogil:
            fold(&s, 0, s.half, 0, 0)
    return half


def whole_of_spectrum(half, tuple axes, Py_ssize_t length, bint conjugate):
    """Both parts of the whole spectrum that a half stands for, or of its conjugate; `length` is
    that of the axis that is halved."""
    cdef Spectrum s
    cdef cnp.npy_intp lengths[MOST_AXES]
    cdef cnp.ndarray given = in_order(half, cnp.NPY_CDOUBLE), re, im
    cdef int i, ndim = cnp.PyArray_NDIM(given), halved = axes[len(axes) - 1]
    for i in range(ndim):
        lengths[i] = cnp.PyArray_DIMS(given)[i]
    lengths[halved] = length
    re = cnp.PyArray_SimpleNew(ndim, lengths, cnp.NPY_DOUBLE)
    im = cnp.PyArray_SimpleNew(ndim, lengths, cnp.NPY_DOUBLE)
    put_axes(&s, ndim, cnp.PyArray_DIMS(given), lengths, axes)
    if cnp.PyArray_SIZE(re) == 0:
        return re, im
    s.re, s.im = <double *>cnp.PyArray_DATA(re), <double *>cnp.PyArray_DATA(im)
    s.sign = -1.0 if conjugate else 1.0
    s.half = <double *>cnp.PyArray_DATA(given)
    if cnp.PyArray_SIZE(re) < MANY:
        unfold(&s, 0, s.half, 0, 0, False)
    else:
        with nogil:
            unfold(&s, 0, s.half, 0, 0, False)
    return re, im


cpdef object resized(x, tuple axes, tuple sizes):
    """An array truncated or padded by zeros along axes; as it is if there are no sizes."""
    cdef Py_ssize_t i
    for i in range(len(sizes)):
        if cnp.PyArray_DIM(x, axes[i]) != <cnp.npy_intp>sizes[i]:
            x = of_length(x, axes[i], sizes[i])
    return x


cdef object of_length(cnp.ndarray x, int axis, cnp.npy_intp size):
    """An array truncated or padded by zeros along one axis."""
    cdef tuple shape = x.shape
    cdef cnp.npy_intp have = shape[axis]
    before = (slice(None),) * axis
    if have > size:
        return x[before + (slice(size),)]
    padded = np.zeros(shape[:axis] + (size,) + shape[axis + 1:])
    padded[before + (slice(have),)] = x
    return padded
