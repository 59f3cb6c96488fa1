"""Spectra of real numbers: the half that is computed, and the whole of which it is a half.

Along the axes that are transformed, X[-k] = conj(X[k]). The last of them is the one that is halved.
Which transform it is of is not known here.
"""

import numpy as np

from . cimport c_numpy as cnp
from .tape cimport MOST_AXES

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


cdef int put_axes(Spectrum *s, tuple shape, tuple axes) except -1:
    """The axes of a whole spectrum of a shape, both parts of which are in order, as is its half."""
    cdef cnp.npy_intp step = 1, half_step = 2
    cdef int i, halved = axes[len(axes) - 1]
    s.ndim = <int>len(shape)
    for i in range(s.ndim - 1, -1, -1):
        s.axis[i].length = s.axis[i].count = shape[i]
        s.axis[i].is_mirrored = i in axes
        s.axis[i].is_halved = i == halved
        if s.axis[i].is_halved:
            s.axis[i].count = s.axis[i].length // 2 + 1
        s.axis[i].step, s.axis[i].half_step = step, half_step
        step *= s.axis[i].length
        half_step *= s.axis[i].count
    return 0


cdef void fold(const Spectrum *s, int i, double *half, cnp.npy_intp here,
               cnp.npy_intp there) noexcept nogil:
    """Put the symmetric part of what stands here in a whole spectrum, and at -k, into a half."""
    cdef const Axis *axis = &s.axis[i]
    cdef cnp.npy_intp k, mirrored = there
    for k in range(axis.count):
        if i + 1 < s.ndim:
            fold(s, i + 1, half, here, mirrored)
        else:
            half[0] = 0.5 * (s.re[here] + s.re[mirrored])
            half[1] = s.sign * 0.5 * (s.im[here] - s.im[mirrored])
        half += axis.half_step
        here += axis.step
        mirrored = there + axis.step * (axis.length - k - 1 if axis.is_mirrored else k + 1)


cdef void unfold(const Spectrum *s, int i, const double *half, cnp.npy_intp here,
                 cnp.npy_intp there, bint is_inner) noexcept nogil:
    """Put a half here, and the conjugate where -k is, unless that is in the half, too."""
    cdef const Axis *axis = &s.axis[i]
    cdef cnp.npy_intp k, mirrored = there
    for k in range(axis.count):
        if axis.is_halved:
            is_inner = 0 < k < axis.length - axis.count + 1
        if i + 1 < s.ndim:
            unfold(s, i + 1, half, here, mirrored, is_inner)
        else:
            s.re[here] = half[0]
            s.im[here] = s.sign * half[1]
            if is_inner:
                s.re[mirrored] = half[0]
                s.im[mirrored] = -s.sign * half[1]
        half += axis.half_step
        here += axis.step
        mirrored = there + axis.step * (axis.length - k - 1 if axis.is_mirrored else k + 1)


def half_of_spectrum(re, im, tuple axes, bint conjugate):
    """The half of the symmetric part of a spectrum, (X[k] + conj(X[-k])) / 2, or its conjugate."""
    cdef Spectrum s
    cdef cnp.ndarray x = np.ascontiguousarray(re), y = np.ascontiguousarray(im), half
    shape = re.shape
    put_axes(&s, shape, axes)
    half = np.empty([s.axis[i].count for i in range(s.ndim)], np.complex128)
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
    cdef cnp.ndarray given = np.ascontiguousarray(half), re, im
    shape = list(half.shape)
    shape[axes[len(axes) - 1]] = length
    put_axes(&s, tuple(shape), axes)
    re, im = np.empty(shape), np.empty(shape)
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
