"""Guards: what a replay has to meet again, since it runs without the user's code.

This module begins and ends the noting of guards, and notes where the package or its users read
values. It does not know which recording the guards are for: they are on the tape.
"""

import os
import warnings

import numpy as np

cimport cython
from cpython.object cimport Py_EQ, Py_LE, Py_NE, PyObject
from libc.stdint cimport uint64_t

from .c_numbers cimport CadTag
from .generated.entries cimport *
from .c_numbers cimport *
from .c_python cimport *
from .generated.tape cimport *
from .atoms cimport components_of, is_plain, numbers_in
from .tape cimport checks_of, Context

from ._core import MissingRuleError
from .atoms import carries, plain_values


cdef int start_guards(CadTape *tape, bint at_once, bint reads) except -1:
    """Note from now on what a replay has to meet again; the tape is pinned. `at_once`: what is
    compared, even if nothing is chosen by it; `reads`: see Guarded, within which others are so, too.

    What stands on the tape counts as what a replay finds changed; marks set later on are those of
    inner recordings. So this comes after the arguments of the recording were lifted.
    """
    cdef CadGuards *outer = tape.guards
    check(cad_guards_new(tape))
    tape.guards.at_once = at_once
    tape.guards.reads = reads or (outer != NULL and outer.reads)
    around.setdefault(<size_t>tape, dealing_with_warnings())
    cad_tape_pin(tape)
    cad_state.guarding += 1
    if checks_of(tape) is not None:
        note_checking()
    return 0


cdef int end_guards(CadTape *tape) except -1:
    """Forget the guards of the last recording; nothing happens if there are none."""
    if tape.guards != NULL:
        cad_state.guarding -= 1
        if tape.guards.indexes:
            cad_index_arrays_by_masks(-1)
        cad_state.rows_lent = cad_state.rows_lent and cad_state.guarding > 0
        cad_guards_free(tape)
        if tape.guards == NULL:
            around.pop(<size_t>tape, None)
        cad_tape_unpin(tape)
    return 0


cpdef bint is_guarding() except -1:
    """Whether what this thread records is to be replayed."""
    return cad_state.guarding > 0 and cad_current_tape().guards != NULL


def is_eager(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether f is run eagerly: within another derivative or program, or under a hook."""
    cdef CadTape *tape = cad_current_tape()
    return (
        tape.hook != NULL
        or tape.guards != NULL
        or tape.open > 0
        or carries(args)
        or (len(kwargs) > 0 and carries(kwargs))
    )


def note_checking() -> None:
    """Note that each step is looked at: a replay would pass it by."""
    note_obstacle("cadiff.nan_check looks at every number")


def note_obstacle(text: str) -> None:
    """Note a reason why what is recorded cannot be replayed; the first one stays."""
    if is_guarding():
        cad_guard_obstacle(cad_current_tape(), text.encode())


cdef dict around = {}  # by tape: what is done with warnings around f, which is being recorded


cdef tuple dealing_with_warnings():
    """What shows warnings or collects them, and the filters.

    From CPython 3.14 on both may be of a context: see `sys.flags.context_aware_warnings`.
    """
    context = warnings._get_context() if hasattr(warnings, "_get_context") else None
    log = getattr(context, "log", None)
    show = getattr(warnings, "_showwarnmsg_impl", None) if log is None else log
    return show, list(getattr(context, "_filters", warnings.filters))


def note_warnings(name: str) -> None:
    """Note that f calls an operation where it collects warnings itself, or has them raised."""
    show, filters = dealing_with_warnings()
    former, last = around[<size_t>cad_current_tape()]
    last = last.copy()
    while filters and last and filters[len(filters) - 1] == last.pop():
        filters.pop()
    if show is not former or any([each[0] == "error" for each in filters]):
        note_obstacle(
            f"it looks at warnings that {name} may give, and a replay gives none: look at what the "
            "result says instead, with full_output=True for instance"
        )


def note_layout(*numbers) -> None:
    """Note that f asks how numbers stand in memory, which its own arguments alone tell."""
    for number in numbers:
        if cad_state.guarding > 0 and cad_guarded_tape(number) != NULL:
            note_obstacle(
                "it asks how an array stands in memory (flags, strides, whose it shares), which "
                "differs from one argument to the next: ask outside, and pass the answer"
            )
            cad_current_tape().guards.is_shown = True


def depends(tree) -> bool:
    """Whether there is a number in it whose value a replay may find changed."""
    if cad_state.guarding > 0:
        for number in numbers_in(tree):
            if cad_guarded_tape(number) != NULL:
                return True
    return False


def choices_of(
    f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
    listener: Callable[[int], None] | None = None,
) -> tuple[Any, int]:
    """What f returns, and a number that tells the outcomes of its comparisons from others.

    The listener is told of each of them."""
    cdef CadTape *tape = cad_current_tape()
    cdef uint64_t outer = tape.choices
    tape.choices = 0
    cad_state.choosing += 1
    if listener is not None:
        listeners[<size_t>tape] = listener
    try:
        result = f(*args, **kwargs)
        return result, tape.choices
    finally:
        cad_state.choosing -= 1
        if listener is not None:
            listeners.pop(<size_t>tape, None)
        # A function around it has chosen what this one has, too.
        tape.choices = (outer + tape.choices) * <uint64_t>0x9E3779B97F4A7C15


cdef object reading = None  # the function of NumPy's or SciPy's that is at work
cdef object called = None
cdef object explain = None


cdef extern from *:
    """
    /* Python itself has no way to set an attribute of a type that is written in C. */
    static inline int put_in_type(PyObject *type, PyObject *members) {
        const int status = PyDict_Update(((PyTypeObject *)type)->tp_dict, members);
        PyType_Modified((PyTypeObject *)type);
        return status;
    }
    """
    int put_in_type(object type, dict members) except -1


def put_in_types(kinds: Iterable[type], members: dict[str, Any]) -> None:
    """Have members, such as descriptors, in the types of numbers."""
    for kind in kinds:
        put_in_type(kind, members)


def bind_anew(package: bytes) -> None:
    """Have `y += v` be `y = y + v` in modules that have names of a package, which names modules."""
    cad_have_arrays_bound_anew(package)


def register_callers(advice: Callable[[], str], of_package: Callable[[], str],
                     explaining: Callable[[BaseException, Callable[[Any], bool]], None],
                     has_own: Callable[[], bool], array_of: Callable[[Any], Any]) -> None:
    """Set what says for error messages what was called: with a number where a plain one is needed,
    of this package, where no function of NumPy's or SciPy's is known, and where other code has
    raised an error that it explains; what tells whether a function is at work in whose place the
    package has one; and what makes an array of another library's, or says why it does not."""
    global called, explain
    called = of_package
    explain = explaining
    cad_register_advice(advice, has_own, array_of)


cdef int explain_error(object error) except -1:
    """Note on an error that f has raised what in f cannot take numbers with derivatives."""
    try:
        explain(error, carries)
    except Exception:  # what f has raised is more to the point
        pass
    return 0


def note_reading(tree) -> None:
    """Note an obstacle if the package is about to read values that a replay may find changed."""
    if is_guarding() and cad_current_tape().guards.obstacle[0] == 0 and depends(tree):
        note_obstacle(
            f"{reading or called()} reads values, which a replay would not read again: compute "
            "what it gives outside of the function, and pass that as an argument"
        )


def note_rule(tree, name: str) -> None:
    """Note an obstacle if numbers of the tape are given to an operation with a rule."""
    if is_guarding() and cad_current_tape().guards.obstacle[0] == 0 and depends(tree):
        note_obstacle(f"{reading or name} has a rule of its own, which cannot be replayed here")


cdef object call_named(object function, object self, PyObject *const *args, size_t nargsf,
                       PyObject *names):
    """Call what stands for a function of NumPy's or SciPy's, whose name reasons will give."""
    global reading
    if reading is not None:
        return PyObject_Vectorcall(function, args, nargsf, names)
    reading = f"{self.__module__}.{self.__name__}".removeprefix("cadiff.")
    try:
        return PyObject_Vectorcall(function, args, nargsf, names)
    finally:
        reading = None


def _forget_others():
    """In a process that was forked: other threads, which read or record, do not exist there."""
    global reading
    reading = None
    cad_forget_other_recordings(cad_current_tape())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_others)


def read_for_user(tree, what: str):
    """Plain values of a tree for the user's program: an obstacle, where a replay would not read
    them again.

    what: what was called, for the message.
    """
    cdef bytes text
    if is_guarding():
        text = what.encode()
        for number in numbers_in(tree):
            cad_read_noted(number, text)
    return plain_values(tree)


cdef dict at_work = {}  # by tape: the innermost of the rules of users' that run, a ValuesTaken


@cython.final
cdef class ValuesTaken:
    """The numbers with derivatives whose plain values a rule takes while it runs: a context.

    name: of its operation. first: numbers of lower slots count for the rules around it.
    """

    cdef readonly list numbers
    cdef readonly str name
    cdef size_t first
    cdef CadTag newest
    cdef object around

    def __init__(self, name, first=0):
        self.name = name
        self.first = first
        self.numbers = []

    def __enter__(self):
        cdef size_t tape = <size_t>cad_current_tape()
        self.newest = cad_fresh_tag()  # of later ones are derivatives that the rule itself takes
        self.around = at_work.get(tape)
        at_work[tape] = self
        return self

    def __exit__(self, *_):
        cdef size_t tape = <size_t>cad_current_tape()
        if self.around is None:
            del at_work[tape]
        else:
            at_work[tape] = self.around

    cdef int take(self, object number) except -1:
        while CAD_IS_DUAL(number):
            parts = components_of(number)
            if CAD_DUAL(number).tag < self.newest:
                for part in parts[1:]:
                    if not is_plain(part) or np.any(cad_plain_value(part)):
                        raise taken_error(self.name)
            number = parts[0]
        if CAD_IS_VAR(number) and not is_plain(number) and CAD_VAR(number).kind != CAD_STALE:
            if self.around is not None and CAD_VAR(number).slot < self.first:
                (<ValuesTaken>self.around).take(number)
            else:
                self.numbers.append(number)
        return 0


def taken_error(name: str) -> TypeError:
    """What is raised instead of a derivative by numbers that a rule has taken values of."""
    return MissingRuleError(
        f"the primitive {name}: a rule of it takes plain values of numbers with derivatives, by "
        "cadiff.value say, so what it gives cannot be differentiated: compute with the numbers "
        "themselves, compare them as they are, and write cadiff.stop_gradient(x) for what is "
        "meant to be constant"
    )


def note_taken(tree) -> None:
    """Note that the program of a user is about to take plain values: see ValuesTaken."""
    if at_work:
        for number in numbers_in(tree):
            cad_note_taken(number)


cdef public int cad_note_taken(object number) except -1:
    if at_work:
        rule = at_work.get(<size_t>cad_current_tape())
        if rule is not None:
            (<ValuesTaken>rule).take(number)
    return 0


# By tape, and serial of a recording: who is told of its guards; by tape alone, of choices.
cdef dict listeners = {}


cdef public int cad_note_choice(int truth) except -1:
    if listeners:
        listener = listeners.get(<size_t>cad_current_tape())
        if listener is not None:
            listener(truth)
    return 0


cdef public int cad_note_guard(object outcome) except -1:
    cdef CadTape *tape = CAD_VAR(outcome).tape
    cdef size_t last = tape.guards.count - 1
    if listeners:
        listener = listeners.get((<size_t>tape, tape.guards.serial))
        if listener is not None:
            listener(last, tape.guards.items[last].count)
    return 0


@cython.final
cdef class GuardsTold(Context):
    """A context within a recording, each guard of which is told of as soon as it is noted, by
    `listener(k, n)`: the k-th, of n outcomes. Those of programs that f calls are not."""

    cdef object listener

    def __init__(self, listener: Callable[[int, int], None]):
        self.listener = listener

    def __enter__(self) -> Self:
        cdef CadTape *tape = cad_current_tape()
        if tape.guards == NULL:
            raise ValueError("GuardsTold: no guards are noted; enter it within Guarded")
        key = <size_t>tape, tape.guards.serial
        listeners[key] = self.listener
        self.begin(key)
        return self

    cdef int end(self, CadTape *tape, object key) except -1:
        listeners.pop(key, None)
        return 0


def compare(left, right, int how, bint equality=True):
    """left < right and so on for numbers and arrays, as a guard; `how` as in Python.h. Without
    `equality`, that two numbers are equal is no accident."""
    cad_state.formulas += not equality
    try:
        return cad_compare(left, right, how)
    finally:
        cad_state.formulas -= not equality


def compare_as_operators(left, right, int how, bint equality=True):
    """The same as the operators of Var do it: arrays give masks, if they can."""
    cad_state.formulas += not equality
    try:
        return cad_richcompare(left, right, how)
    finally:
        cad_state.formulas -= not equality


@cython.final
cdef class AsNumPy(Context):
    """A context in which comparisons of single numbers answer as NumPy's do: in a recording
    nothing depends on them as long as they choose between numbers. There `y += v` is `y = y + v`."""

    def __enter__(self) -> None:
        cad_current_tape().as_numpy += 1
        cad_state.as_numpy += 1
        self.begin(None)

    cdef int end(self, CadTape *tape, object nothing) except -1:
        tape.as_numpy -= 1
        cad_state.as_numpy -= 1
        return 0


def answers_as_numpy() -> bool:
    """Whether this thread is in such a context."""
    return cad_answers_as_numpy()


def note_outcomes(number, serial: int, bint equality) -> None:
    """Note numbers as guards of the recording of this serial, if it has not ended: a Var of
    outcomes, or a part of one."""
    cdef size_t low, high
    if CAD_VAR(number).kind == CAD_ARRAY or CAD_VAR(number).kind == CAD_SCALAR:
        low = high = CAD_VAR(number).slot
        if CAD_VAR(number).kind == CAD_ARRAY:
            cad_var_bounds(CAD_VAR(number), &low, &high)
        check(cad_guard_note_late(
            CAD_VAR(number).tape, serial, <CadSlot>low, high - low + 1, equality
        ))
        if CAD_VAR(number).tape.guards != NULL and CAD_VAR(number).tape.guards.serial == <uint64_t>serial:
            cad_note_guard(number)
    elif CAD_VAR(number).kind == CAD_STALE:
        note_obstacle("a comparison is read whose numbers are gone: read it where it is made")


def notes_guards(number, serial: int) -> bool:
    """Whether the recording of this serial, which a Var belongs to, is under way."""
    return is_guarding() and CAD_VAR(number).tape == cad_current_tape() and (
        CAD_VAR(number).tape.guards.serial == <uint64_t>serial
    )


def chooses_anew() -> bool:
    """Whether what is recorded may choose otherwise in a replay, and be computed by other steps
    than outside of recordings: not if all comparisons are guards, for a replay to the last bit."""
    return bool(cad_chooses_anew())


def makes_plain() -> bool:
    """Whether plain values and integers are wanted: see Guarded."""
    return is_guarding() and cad_current_tape().guards.reads != 0


def guards_serial() -> int:
    """The serial of the recording that notes guards, of which there has to be one."""
    if not is_guarding():
        raise RuntimeError("this thread notes no guards")
    return cad_current_tape().guards.serial


def register_masks(kind: type) -> None:
    """Set the type of what comparisons of arrays give while guards are noted: see
    operations/masks.py."""
    cad_register_masks(kind)


def register_scalars(kind: type) -> None:
    """Set the type of what stands for single numbers of Python's: see operations/scalars.py."""
    cad_register_scalars(kind)


def lend_rows() -> None:
    """Have assignments ask whether they may: until the recording ends."""
    cad_state.rows_lent = 1


def index_plain_arrays() -> None:
    """Have plain arrays indexed by what stands for integers, which a replay computes anew: until
    the recording ends."""
    cdef CadGuards *guards = cad_current_tape().guards
    if guards != NULL and not guards.indexes:
        guards.indexes = 1
        cad_index_arrays_by_masks(1)


def share_memory(left, right) -> bool:
    """Whether two Vars have numbers of the tape in common, or might have."""
    cdef size_t low, high, first, last
    if not (CAD_IS_VAR_ARRAY(left) and CAD_IS_VAR_ARRAY(right)):
        return False
    cad_var_bounds(CAD_VAR(left), &low, &high)
    cad_var_bounds(CAD_VAR(right), &first, &last)
    return first <= high and low <= last


def share_numbers(left, right) -> bool:
    """Whether two arrays of Vars have a number of the tape in common."""
    if not (CAD_IS_VAR_ARRAY(left) and CAD_IS_VAR_ARRAY(right)):
        return False
    slots = [cad_var_slots(CAD_VAR(x)) for x in (left, right)]
    return np.intersect1d(*slots).size > 0


def indicator(x, y, int how):
    """1 where x < y and so on, 0 elsewhere, as numbers of the tape: nothing is chosen by them, so
    that a replay computes them anew. `how` as in Python.h; < or <=, == or !=."""
    cdef int op = <int>CAD_OP_less
    if how == Py_LE:
        op = <int>CAD_OP_less_equal
    elif how == Py_EQ:
        op = <int>CAD_OP_equal
    elif how == Py_NE:
        op = <int>CAD_OP_not_equal
    return cad_apply2(op, x, y)


def _start_guards(at_once: bool = True) -> None:
    if is_guarding():
        raise RuntimeError("this thread notes guards already")
    start_guards(cad_current_tape(), at_once, False)


cdef list noted_guards(CadTape *tape):
    """A list of (slot, count, equality, outcomes), as they stand on the tape now."""
    cdef CadGuard guard
    cdef size_t i, k
    guards = []
    for i in range(tape.guards.count):
        guard = tape.guards.items[i]
        outcomes = [tape.values[guard.slot + k] for k in range(guard.count)]
        guards.append((guard.slot, guard.count, guard.equality != 0, outcomes))
    return guards


def _end_guards() -> tuple[list[tuple[int, int, bool, list[bool]]], str]:
    """A list of (slot, count, equality, outcomes), and the obstacle, "" if there is none."""
    cdef CadTape *tape = cad_current_tape()
    if tape.guards == NULL:
        raise RuntimeError("this thread notes no guards")
    try:
        return noted_guards(tape), (<bytes>tape.guards.obstacle).decode()
    finally:
        end_guards(tape)


def unguarded(tree):
    """Plain values of a tree for the package's own use: what is recorded cannot be replayed then,
    if a replay may find the values changed."""
    if cad_state.guarding > 0:
        note_reading(tree)
    return plain_values(tree)
