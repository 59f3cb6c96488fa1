"""Loops of C as steps of programs: which operands, axes and buffers they go over.

What they compute is not known here: they are loops of ufuncs, of generalized ones such as NumPy's
around LAPACK, and the kernels of the core.
"""

import re
from math import prod
from typing import NamedTuple

import numpy as np

cimport cython
from cpython.pycapsule cimport PyCapsule_GetName, PyCapsule_GetPointer
from libc.math cimport INFINITY
from libc.stdint cimport intptr_t
from libc.string cimport memset

from .generated.program cimport *
from . cimport c_numpy as cnp
from .c_numbers cimport *


def cores_of(str signature) -> list[tuple[str, ...]]:
    """The names of the axes of the core of each argument of a generalized ufunc."""
    return [tuple(re.findall(r"\w+", core)) for core in re.findall(r"\(([^)]*)\)", signature)]


class Loops(NamedTuple):
    """What a program calls: see `Borrowed`, of which these are stages and buffers.

    signature: that of what they do together, for operands, `constants` and results. In it "2" is
    an axis of both parts of complex numbers.
    """

    signature: str
    stages: tuple[Any, ...]
    buffers: tuple[Any, ...]
    constants: tuple[Any, ...] = ()


ITEMS: dict[str, int] = {"d": 8, "D": 16, "i": 4}


@cython.final
cdef class Borrowed:
    """Loops of ufuncs over stacks, one after the other, for arguments of fixed lengths.

    A stage is a pair: a loop, and the buffers it goes over, a letter for each. The loop is that of
    a ufunc, (ufunc, "d->dd"), or of a kernel, with the kernel's name in place of the ufunc, or the
    name and a capsule of its data. `buffers` are those of the arguments, from which operands are
    copied, and results to. Of ("a", "upper") that is the upper triangle; ("w", "complex") has to be
    complex. `cores` are the lengths of their axes; `pairs` says which of them may be complex.
    """

    cdef CadBorrowed call
    cdef readonly list stages  # whose loops they are

    def __init__(self, tuple stages, tuple buffers, list cores, list pairs, Py_ssize_t n_operands):
        cdef CadBorrowed *call = &self.call
        cdef int k
        memset(call, 0, sizeof(CadBorrowed))
        self.stages = list(stages)
        call.n_arguments = len(buffers)
        known, types = {}, {}
        for k, (buffer, core) in enumerate(zip(buffers, cores)):
            call.axes[k], call.is_pair[k] = len(core), pairs[k]
            if len(buffer) == 1:
                known[buffer] = core
        if len(stages) > CAD_MOST_STAGES:
            raise ValueError(f"{len(stages)} stages are more than {CAD_MOST_STAGES}")
        added = [self.add_stage(function, names, known, types) for function, names in stages]
        if len(types) > CAD_MOST_BUFFERS:
            raise ValueError(f"{len(types)} buffers are more than {CAD_MOST_BUFFERS}")
        places = {name: k for k, name in enumerate(types)}
        for k, (name, kind) in enumerate(types.items()):
            put_buffer(&call.buffers[k], known[name], kind)
            call.buffers[k].start = call.size
            call.size += call.buffers[k].n_rows * call.buffers[k].n_columns * (
                2 if kind == "D" else 1
            )
        call.n_buffers = len(types)
        for k, buffer in enumerate(buffers):
            put_copy(&call.buffers[places[buffer[0]]], k, cores[k], buffer[1:], k < n_operands)
        for k, names in enumerate(added):
            for i, name in enumerate(names):
                call.stages[k].buffers[i] = places[name]

    cdef list add_stage(self, tuple function, str names, dict known, dict types):
        """Take a loop, with the lengths of its axes and of its buffers; answers their names."""
        cdef CadStage *stage = &self.call.stages[self.call.n_stages]
        cdef const CadStackKernel *kernel
        cdef int i
        given, kinds = function
        if isinstance(given, tuple):
            given, capsule = given
            stage.data = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule))
        if isinstance(given, str):
            kernel = kernel_called(given)
            stage.loop, signature = kernel.loop, kernel.signature.decode()
        else:
            signature = given.signature
            if not cad_loop_of_ufunc(given, given.types.index(kinds), &stage.loop, &stage.data):
                raise ValueError(f"{given.__name__} has no loop {kinds}")
        lengths, steps = {}, []
        cores = cores_of(signature)
        for name, core in zip(names, cores):
            if name in known:
                lengths.update(zip(core, known[name]))
        for axis in [axis for core in cores for axis in core]:
            lengths.setdefault(axis, min([*lengths.values()][:2]))  # of a matrix m x n
        for name, core, kind in zip(names, cores, kinds.replace("->", "")):
            known.setdefault(name, tuple([lengths[axis] for axis in core]))
            types.setdefault(name, kind)
            steps += strides_in_order([lengths[axis] for axis in core], ITEMS[kind])
        stage.n = len(names)
        stage.dims[0] = 1
        named = dict.fromkeys([axis for core in cores for axis in core])
        for i, axis in enumerate(named):
            stage.dims[1 + i] = lengths[axis]
        for i, step in enumerate(steps):
            stage.steps[stage.n + i] = step
        self.call.n_stages += 1
        return list(names)


cdef int put_buffer(CadBuffer *buffer, tuple core, str kind) except -1:
    buffer.type = {"d": CAD_BUFFER_DOUBLE, "D": CAD_BUFFER_COMPLEX, "i": CAD_BUFFER_INT}[kind]
    buffer.n_rows = core[0] if len(core) > 1 else 1
    buffer.n_columns = core[len(core) - 1] if core else 1
    buffer.source = buffer.to = -1
    return 0


cdef int put_copy(CadBuffer *buffer, int k, tuple core, how, bint is_operand) except -1:
    if is_operand:
        buffer.source = k
        return 0
    buffer.to = k
    buffer.is_upper = how == ("upper",)
    buffer.is_turning = how == ("complex",)
    buffer.rows = core[0] if len(core) > 1 else 1
    buffer.columns = core[len(core) - 1] if core else 1
    return 0


@cython.final
cdef class Retyped:
    """A loop of an elementwise ufunc over numbers of other types than floats, for `native_of`.

    types: as the ufunc names them, "DD->D". Of complex numbers, operands and results have both
    parts along a first axis.
    """

    cdef CadRetyped call
    cdef readonly object ufunc
    cdef readonly str signature

    def __init__(self, ufunc, str types):
        cdef CadRetyped *call = &self.call
        kinds = {"d": CAD_ITEM_DOUBLE, "D": CAD_ITEM_COMPLEX, "i": CAD_ITEM_INT}
        operands, results = types.split("->")
        self.ufunc = ufunc
        call.n_operands, call.n_arguments = len(operands), len(operands) + len(results)
        for k, kind in enumerate(operands + results):
            call.types[k] = kinds[kind]
        if not cad_loop_of_ufunc(ufunc, ufunc.types.index(types), &call.loop, &call.data):
            raise ValueError(f"{ufunc.__name__} has no loop {types}")
        self.signature = ",".join(["(2)" if kind == "D" else "()" for kind in operands + results])


# --- what carries steps out ----------------------------------------------------------------------

@cython.final
cdef class Native:
    """A loop of a ufunc, or of a generalized one, over operands and results of fixed shapes."""

    cdef CadNative call
    cdef list owners  # what it points to


cdef dict known_natives = {}

cdef enum:
    MOST_NATIVES = 4096


def native_of(function, list arguments, list results,
              tuple bounds=()) -> Native | None:
    """What carries out `results = function(*arguments)` in C; None if there is no such loop.

    The function is a ufunc, or a generalized one, over floats; or a pair: the name of a kernel of
    src/kernels/stacks.c, and what else it is told, an int; or `Loops`, a `Retyped` or a
    `Transformation`. A third item says which axes the cores of arguments and results are, a tuple for
    each, or None for all axes as one; else they are the last ones, and "2" in a signature the first:
    both parts of complex numbers. A pair of a ufunc and axes is its reduction over these. An argument is a constant, or (begin,
    shape): an operand that begins there in the row of operands. Results are told by their shapes.
    `bounds` are pairs, one for each argument, outside of which an operand is for Python; so it is if
    a loop over matrices answers nan, unless that answers always.
    """
    key = None
    if all([isinstance(x, tuple) for x in arguments]):
        key = function, tuple(arguments), tuple(results), bounds
        if key in known_natives:
            return known_natives[key]
    native = new_native(function, arguments, results, bounds)
    if key is not None:
        if len(known_natives) >= MOST_NATIVES:
            known_natives.clear()
        known_natives[key] = native
    return native


@cython.final
cdef class Transformation:
    """A discrete Fourier transform of arrays of a shape, for `native_of`: all arguments are whole
    arrays, as one core each. It begins and ends with real parts, and imaginary ones if there are
    two; `half` says what is half a spectrum: 1 the result, 2 the operand.

    ufuncs: the transform of complex rows, and that to or from half a spectrum, or None.
    """

    cdef CadTransform transform
    cdef tuple ufuncs

    def __init__(self, tuple ufuncs, tuple given, tuple lengths, tuple to, tuple axes,
                 tuple factors, int n_operands, int n_results, int half, Py_ssize_t real_length,
                 double inner):
        cdef CadTransform *t = &self.transform
        cdef Py_ssize_t k
        if len(given) > CAD_TRANSFORM_AXES:
            raise ValueError("a transform of too many axes")
        self.ufuncs = ufuncs
        t.ndim, t.n_axes = len(given), len(axes)
        for k in range(t.ndim):
            t.given[k], t.lengths[k], t.to[k] = given[k], lengths[k], to[k]
        for k in range(t.n_axes):
            t.axes[k], t.factors[k] = axes[k], factors[k]
        t.n_operands, t.n_results, t.half = n_operands, n_results, <CadHalf>half
        t.real_length, t.inner = real_length, inner
        whole, halving = ufuncs
        if not cad_loop_over_numbers(whole, 2, 1, 0b101, &t.whole.loop, &t.whole.data):
            raise ValueError("not a transform of complex rows")
        if halving is not None and not cad_loop_over_numbers(
            halving, 2, 1, 0b100 if half == CAD_HALF_RESULT else 0b001, &t.halving.loop,
            &t.halving.data
        ):
            raise ValueError("not a transform of halves of spectra")


cdef const CadStackKernel *kernel_called(str name) except NULL:
    cdef const CadStackKernel *kernel = cad_stack_kernels
    while kernel.name != NULL and kernel.name != name.encode():
        kernel += 1
    if kernel.name == NULL:
        raise ValueError(f"there is no kernel {name}")
    return kernel


cdef str find_loop(function, Py_ssize_t n_operands, Py_ssize_t n_results, CadNative *call):
    """The signature of a function whose loop was found; None if it has none."""
    cdef const CadStackKernel *kernel
    if isinstance(function, Loops):
        call.may_fail = True
        return function.signature
    if isinstance(function, Transformation):
        call.loop, call.data = cad_transform_run, &(<Transformation>function).transform
        call.may_fail = True
        return ",".join([f"({letter})" for letter in "abcd"[:n_operands + n_results]])
    if isinstance(function, Retyped):
        call.loop, call.data = cad_run_retyped, &(<Retyped>function).call
        return (<Retyped>function).signature
    if not isinstance(function, tuple):
        if not cad_loop_over_doubles(function, n_operands, n_results, &call.loop, &call.data):
            return None
        signature = getattr(function, "signature", None)
        call.may_fail = signature is not None
        return signature or ""
    name, told = function[:2]
    kernel = kernel_called(name)
    call.loop = kernel.loop
    call.data = <void *><intptr_t>told
    call.may_fail = not kernel.answers_always
    return kernel.signature.decode()


cdef double neutral(ufunc) except? -1.0:
    """What a reduction begins with."""
    return {np.maximum: -np.inf, np.minimum: np.inf, np.multiply: 1.0}[ufunc]


cdef Native new_native(function, list arguments, list results, tuple bounds):
    if isinstance(function, tuple) and isinstance(function[0], np.ufunc):
        return new_reduction(function[0], function[1], arguments[0], results[0])
    cdef Native native = Native.__new__(Native)
    cdef CadNative *call = &native.call
    cdef Borrowed borrowed
    cdef Py_ssize_t i, k, n_operands, n, at = 0
    cdef str signature
    if isinstance(function, Loops):
        arguments = arguments + list(function.constants)
    n_operands = len(arguments)
    n = n_operands + len(results)
    if n > CAD_MOST_ARGUMENTS:
        return None
    signature = find_loop(function, n_operands, len(results), call)
    if signature is None:
        return None
    native.owners = [function]
    shapes = []
    for k in range(n_operands):
        if isinstance(arguments[k], tuple):
            call.starts[k], shape = arguments[k]
        else:
            array = np.ascontiguousarray(arguments[k], dtype=np.float64)
            shape = np.shape(arguments[k])
            native.owners.append(array)
            call.constants[k] = cnp.doubles(array)
        shapes.append(shape)
    shapes += results
    if any([0 in shape for shape in shapes]):
        return None
    for k in range(n_operands, n):
        call.starts[k] = at
        at += prod(shapes[k])
    cores = cores_of(signature) if signature else [()] * n
    if len(cores) != n:
        return None
    places = None
    if isinstance(function, Transformation):
        places = [None] * n
    elif isinstance(function, tuple) and len(function) == 3:
        places = function[2]
    outer, strides, core_lengths, core_steps, core_shapes = [], [], {}, [], []
    pairs = [core[:1] == ("2",) for core in cores]
    for k in range(n):
        call.sizes[k] = prod(shapes[k])
        if places is not None and places[k] is None:
            shapes[k] = (prod(shapes[k]),)
        ndim = len(shapes[k])
        if ndim < len(cores[k]):
            return None
        inner = [*range(ndim - len(cores[k]), ndim)]
        if pairs[k]:
            inner[0] = 0
        if places is not None and places[k] is not None:
            inner = [axis % ndim for axis in places[k]]
        steps = strides_in_order(shapes[k])
        for name, axis in zip(cores[k], inner, strict=True):
            if core_lengths.setdefault(name, shapes[k][axis]) != shapes[k][axis]:
                return None
            core_steps.append(steps[axis])
        core_shapes.append(tuple([shapes[k][axis] for axis in inner[pairs[k]:]]))
        others = [axis for axis in range(ndim) if axis not in inner]
        outer.append(tuple([shapes[k][axis] for axis in others]))
        strides.append([steps[axis] for axis in others])
    lengths = np.broadcast_shapes(*outer[:n_operands])
    for k in range(n_operands, n):
        if not cores[k] and prod(outer[k]) == prod(lengths):  # axes that are kept
            outer[k], strides[k] = lengths, strides_in_order(lengths)
        if outer[k] != lengths:
            return None
    spread = [
        [0] * (len(lengths) - len(shape))
        + [0 if length == 1 else step for length, step in zip(shape, steps)]
        for shape, steps in zip(outer, strides)
    ]
    call.n_arguments, call.n_results = n, len(results)
    axes = merged_axes(lengths, spread)
    if not set_axes(call, axes) or len(core_steps) > CAD_MOST_CORE:
        return None
    for i, length in enumerate(core_lengths.values()):
        call.dims[1 + i] = length
    for i, step in enumerate(core_steps):
        call.steps[n + i] = step
    if isinstance(function, Loops):
        borrowed = Borrowed(function.stages, function.buffers, core_shapes, pairs, n_operands)
        native.owners.append(borrowed)
        call.loop = cad_run_borrowed
        call.data = &borrowed.call
    call.is_bounded = bounds != ()
    for k in range(n_operands):
        call.low[k], call.high[k] = bounds[k] if bounds else (-INFINITY, INFINITY)
    call.is_elementwise = (
        not signature and call.ndim == 0
        and all([call.sizes[k] == call.sizes[n - 1] and call.constants[k] == NULL
                 for k in range(n)])
    )
    return native


cdef bint set_axes(CadNative *call, list axes) except -1:
    """Have it go along axes (length, step of each argument), the last one in the loop; answers
    whether there are not too many."""
    cdef Py_ssize_t i, k
    call.ndim = len(axes) - 1
    if call.ndim > CAD_MOST_OUTER:
        return False
    for i in range(call.ndim):
        call.lengths[i] = axes[i][0]
        for k in range(call.n_arguments):
            call.strides[i][k] = axes[i][1][k]
    length, along = axes[call.ndim]
    call.dims[0] = length
    for k in range(call.n_arguments):
        call.steps[k] = along[k]
    return True


cdef enum:
    SHORT = 16  # turns of a loop, which cost less than a call


cdef Native new_reduction(ufunc, tuple reduced, operand, tuple result):
    """The reduction of an operand over axes by a ufunc of two."""
    cdef Native native = Native.__new__(Native)
    cdef CadNative *call = &native.call
    cdef Py_ssize_t k
    if not isinstance(operand, tuple) or not cad_loop_over_doubles(ufunc, 2, 1, &call.loop,
                                                                   &call.data):
        return None
    begin, shape = operand
    if 0 in shape:
        return None
    native.owners = [ufunc]
    kept = strides_in_order([1 if k in reduced else n for k, n in enumerate(shape)])
    steps = [0 if k in reduced else step for k, step in enumerate(kept)]
    call.n_arguments, call.n_results = 3, 1
    call.reduces, call.start = True, neutral(ufunc)
    call.starts[1] = begin
    for k in range(3):
        call.sizes[k] = prod(shape if k == 1 else result)
    axes = merged_axes(shape, [steps, strides_in_order(shape), steps])
    if axes[len(axes) - 1][0] < SHORT:
        axes.sort(key=lambda axis: axis[0])
    return native if set_axes(call, axes) else None


def run_loop(function, list operands, *shapes: tuple[int, ...]):
    """`results = function(*operands)` of plain arrays, if there is a loop that does it: see
    `native_of`. Shapes are those of the results; of several, a tuple is the answer. None where
    there are no elements, or the loop declines."""
    cdef Py_ssize_t n = 0
    cdef cnp.ndarray given, found
    cdef Native native
    cdef bint is_done
    arguments = []
    for x in operands:
        arguments.append((n, np.shape(x)))
        n += np.size(x)
    native = native_of(function, arguments, list(shapes))
    if native is None:
        return None
    if len(operands) == 1:
        given = cnp.in_order(operands[0], cnp.NPY_DOUBLE)
    else:
        given = np.concatenate([np.ravel(x) for x in operands], dtype=np.float64)
    found = np.empty(sum([prod(shape) for shape in shapes]))
    if n < LONG_ROW:
        is_done = cad_native_run(&native.call, cnp.doubles(given), cnp.doubles(found))
    else:
        with nogil:
            is_done = cad_native_run(&native.call, cnp.doubles(given), cnp.doubles(found))
    if not is_done:
        return None
    if all([cad_is_single(x) for x in operands]):
        found = cad_narrowed(found)
    results, n = [], 0
    for shape in shapes:
        results.append(found[n:n + prod(shape)].reshape(shape)[()])
        n += prod(shape)
    return tuple(results) if len(shapes) > 1 else results[0]


cdef enum:
    LONG_ROW = 4096  # numbers, from which on the GIL is given up


cdef list strides_in_order(shape, Py_ssize_t step=8):
    """In bytes, of an array in C order, whose items are so long."""
    strides = []
    for length in reversed(shape):
        strides.insert(0, step)
        step *= length
    return strides


cdef list merged_axes(tuple lengths, list strides):
    """Axes (length, step of each argument), fewer where two of them are gone through like one."""
    axes = []
    for i, length in enumerate(lengths):
        steps = [each[i] for each in strides]
        if length == 1:
            continue
        before, along = axes.pop() if axes else (1, [step * length for step in steps])
        if along != [step * length for step in steps]:
            axes.append((before, along))
            before = 1
        axes.append((before * length, steps))
    return axes or [(1, [8] * len(strides))]
