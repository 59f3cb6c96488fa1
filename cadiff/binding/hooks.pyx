"""Hooks on a tape, which are called while it records.

A hook notes the shapes of arrays, which entries do not keep. It may have each step checked as
well, by Checks, whose only subclass is that of nan_check. This module knows when to check, and
which step is being differentiated, but not what is checked for.
"""

import sys

cimport cython

from .c_numbers cimport *
from .c_python cimport *
from .c_sweeps cimport *
from .c_tape cimport *
from .tape cimport Context, entry_name


cdef class Checks:
    """Checks of each step, in one thread; a subclass has the methods."""

    def __cinit__(self):
        self.suspects = []

    cdef list suspects_of(self, object f, tuple args):
        """The numbers that a function is called with and that are not finite, by their names."""
        raise NotImplementedError

    cdef int look_at_array(self, Hook hook, tuple shape) except -1:
        """Check the values that the last entry computed, an array of this shape."""
        raise NotImplementedError

    cdef int look_at_rule(self, object rule, list operands, list results) except -1:
        """Check what a primitive returned."""
        raise NotImplementedError

    cdef int sweep_record(self, CadTape *tape, size_t begin, size_t end, CadSlot base, bint linear,
                          CadNumber *adjoints) except -1:
        """cad_sweep_record, with a check of each step."""
        raise NotImplementedError


@cython.final
cdef class Hook:
    """What is known of the entries of one tape while a hook is set on it."""


cdef dict hooks = {}  # by tape


cdef Hook add_hook(CadTape *tape):
    """The hook of a tape, set until remove_hook was called as often as this."""
    cdef Hook hook = hooks.get(<size_t>tape)
    if hook is None:
        hook = Hook.__new__(Hook)
        hook.tape = tape
        hook.functions.holder = <void *>hook
        hook.functions.array = on_array
        hook.shapes = [None]
        hook.shape_numbers = {}
        hooks[<size_t>tape] = hook
        cad_tape_set_hook(tape, &hook.functions)
    hook.users += 1
    return hook


cdef int remove_hook(Hook hook) except -1:
    hook.users -= 1
    if hook.users == 0:
        cad_tape_set_hook(hook.tape, NULL)
        del hooks[<size_t>hook.tape]
    return 0


cdef CadStatus on_array(void *holder, int ndim, const Py_ssize_t *shape) noexcept:
    # The collector would run finalizers, and these may append entries.
    cdef bint collecting = PyGC_Disable()
    try:
        lengths = tuple([shape[i] for i in range(ndim)])
        note_shape(<Hook>holder, lengths)
        if (<Hook>holder).checks is not None:
            (<Hook>holder).checks.look_at_array(<Hook>holder, lengths)
        return CAD_OK
    except BaseException as error:
        cad_restore_exception(error)
        return CAD_RAISED
    finally:
        if collecting:
            PyGC_Enable()


cdef int note_shape(Hook hook, tuple shape) except -1:
    """Keep the shape of the array that the last entry made."""
    cdef object number = hook.shape_numbers.get(shape)
    if number is None:
        number = len(hook.shapes)
        hook.shapes.append(shape)
        hook.shape_numbers[shape] = number
    hook.tape.origins[hook.tape.n_entries - 1].shape = number
    return 0


cdef Hook hook_of(CadTape *tape):
    """The hook that is set on a tape."""
    return hooks[<size_t>tape]


cdef Checks checks_of(CadTape *tape):
    """The checks that are on for a tape; or None."""
    return None if tape.hook == NULL else hook_of(tape).checks


cdef object enter_step(CadTape *tape, size_t entry):
    """Have what is recorded from now on belong to the derivative of an entry; answers the former
    step, for leave_step."""
    cdef Checks checks = checks_of(tape)
    if checks is None:
        return None
    former = step_under_way(tape)
    step = entry_name(tape, entry), cad_tape_origin(tape, entry).place
    checks.step, checks.step_frame = step, sys._getframe()
    return former


cdef object step_under_way(CadTape *tape):
    """The step that is being differentiated, as enter_step answers it."""
    cdef Checks checks = checks_of(tape)
    return None if checks is None else (checks.step, checks.step_frame)


cdef int leave_step(CadTape *tape, object former) except -1:
    cdef Checks checks = checks_of(tape)
    if former is not None and checks is not None:
        checks.step, checks.step_frame = former
    return 0


cdef object note_suspects(CadTape *tape, object f, tuple args):
    """Remember which of the numbers that a function is called with are not finite."""
    cdef Checks checks = checks_of(tape)
    if checks is None:
        return None
    suspects = checks.suspects_of(f, args)
    checks.suspects.append(suspects)
    return suspects


cdef int forget_suspects(CadTape *tape, object suspects) except -1:
    cdef Checks checks = checks_of(tape)
    if checks is not None and suspects is not None:
        checks.suspects = [names for names in checks.suspects if names is not suspects]
    return 0


cdef int look_at_rule(CadTape *tape, object rule, list operands, list results) except -1:
    """Check what a primitive returned, if checks are on."""
    cdef Checks checks = checks_of(tape)
    return 0 if checks is None else checks.look_at_rule(rule, operands, results)


def is_hooked():
    """Whether a hook is set on this thread's tape, as nan_check does."""
    return cad_current_tape().hook != NULL


def is_opened():
    """Whether programs run their functions in this thread: see Opened."""
    return cad_current_tape().open > 0


def recorded_shapes():
    """A context in which the shapes of the arrays that this thread records are noted."""
    return ShapeHook()


@cython.final
cdef class ShapeHook(Context):
    def __enter__(self):
        self.begin(add_hook(cad_current_tape()))
        return self

    cdef int end(self, CadTape *tape, object hook) except -1:
        return remove_hook(hook)
