"""Watching a tape while it records.

Who watches notes the shapes of arrays, which entries do not keep; and may have each step looked at,
by Checks, of which nan_check has the only kind. This module knows when they have to look, and which
step it is whose derivative is under way, but not what they look for.
"""

import sys

cimport cython

from .c_numbers cimport *
from .c_python cimport *
from .c_sweeps cimport *
from .c_tape cimport *
from .tape cimport entry_name


cdef class Checks:
    """What looks at each step, in one thread: the methods are those of a subclass."""

    def __cinit__(self):
        self.suspects = []

    cdef list suspects_of(self, object f, tuple args):
        """The numbers that are not finite which a function is called with, by their names."""
        raise NotImplementedError

    cdef int look_at_array(self, Watch watch, tuple shape) except -1:
        """Look at the values that the last entry computed, an array of this shape."""
        raise NotImplementedError

    cdef int look_at_rule(self, object rule, list operands, list results) except -1:
        """Look at what a primitive returned."""
        raise NotImplementedError

    cdef int sweep_record(self, CadTape *tape, size_t begin, size_t end, CadSlot base, bint linear,
                          CadNumber *adjoints) except -1:
        """cad_sweep_record, and a look at each step."""
        raise NotImplementedError


@cython.final
cdef class Watch:
    """What is known of the entries of one tape while somebody watches it."""


cdef dict watches = {}  # by tape


cdef Watch begin_watch(CadTape *tape):
    """Watch a tape, until as many calls of end_watch."""
    cdef Watch watch = watches.get(<size_t>tape)
    if watch is None:
        watch = Watch.__new__(Watch)
        watch.tape = tape
        watch.functions.holder = <void *>watch
        watch.functions.array = watch_array
        watch.shapes = [None]
        watch.shape_numbers = {}
        watches[<size_t>tape] = watch
        cad_tape_set_hook(tape, &watch.functions)
    watch.users += 1
    return watch


cdef int end_watch(Watch watch) except -1:
    watch.users -= 1
    if watch.users == 0:
        cad_tape_set_hook(watch.tape, NULL)
        del watches[<size_t>watch.tape]
    return 0


cdef CadStatus watch_array(void *holder, int ndim, const Py_ssize_t *shape) noexcept:
    # The collector would run finalizers, and these may append entries.
    cdef bint collecting = PyGC_Disable()
    try:
        lengths = tuple([shape[i] for i in range(ndim)])
        note_shape(<Watch>holder, lengths)
        if (<Watch>holder).checks is not None:
            (<Watch>holder).checks.look_at_array(<Watch>holder, lengths)
        return CAD_OK
    except BaseException as error:
        cad_restore_exception(error)
        return CAD_RAISED
    finally:
        if collecting:
            PyGC_Enable()


cdef int note_shape(Watch watch, tuple shape) except -1:
    """Keep the shape of the array that the last entry made."""
    cdef object number = watch.shape_numbers.get(shape)
    if number is None:
        number = len(watch.shapes)
        watch.shapes.append(shape)
        watch.shape_numbers[shape] = number
    watch.tape.origins[watch.tape.n_entries - 1].shape = number
    return 0


cdef Watch watch_of(CadTape *tape):
    """What watches a tape that is watched."""
    return watches[<size_t>tape]


cdef Checks checks_of(CadTape *tape):
    """The checks that are on for a tape; or None."""
    return None if tape.hook == NULL else watch_of(tape).checks


cdef object enter_step(CadTape *tape, size_t entry):
    """What is recorded from now on belongs to the derivative of an entry; answers what did so far.
    """
    cdef Checks checks = checks_of(tape)
    if checks is None:
        return None
    former = step_under_way(tape)
    checks.step = entry_name(tape, entry), cad_tape_origin(tape, entry).place
    checks.step_frame = sys._getframe()
    return former


cdef object step_under_way(CadTape *tape):
    """What enter_step answers, without entering any."""
    cdef Checks checks = checks_of(tape)
    return None if checks is None else (checks.step, checks.step_frame)


cdef int leave_step(CadTape *tape, object former) except -1:
    cdef Checks checks = checks_of(tape)
    if former is not None and checks is not None:
        checks.step, checks.step_frame = former
    return 0


cdef object note_suspects(CadTape *tape, object f, tuple args):
    """Remember which numbers are not finite that a function is called with."""
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
    """Have somebody look at what a primitive returned, if anybody does."""
    cdef Checks checks = checks_of(tape)
    return 0 if checks is None else checks.look_at_rule(rule, operands, results)


def is_watched():
    """Whether somebody watches what this thread records, as nan_check does."""
    return cad_current_tape().hook != NULL


def watch_shapes():
    """A context in which the shapes of arrays are noted that this thread records."""
    return ShapeWatch()


@cython.final
cdef class ShapeWatch:
    cdef Watch watch

    def __enter__(self):
        self.watch = begin_watch(cad_current_tape())
        return self

    def __exit__(self, *_):
        end_watch(self.watch)
