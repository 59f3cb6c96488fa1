"""Loops of generalized ufuncs as kernels of programs: which buffers they go over.

What they compute is not known here; NumPy's around LAPACK are what this is for.
"""

import re
from typing import NamedTuple

cimport cython
from cpython.pycapsule cimport PyCapsule_GetName, PyCapsule_GetPointer
from libc.string cimport memset

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
            kernel = cad_stack_kernels
            while kernel.name != given.encode():
                kernel += 1
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
            step = ITEMS[kind]
            of_core = []
            for axis in reversed(core):
                of_core.insert(0, step)
                step *= lengths[axis]
            steps += of_core
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
