"""Looks for the first number that is not finite, and for its line of code.

While it is on, each entry asks the tape for room, so that the hook can note the line; reverse sweeps
go entry by entry; Duals are checked when they are made. While it is off, none of this costs
anything.
"""

import inspect
import linecache
import sys
import threading
from math import prod
from os.path import dirname

import numpy as np

cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint32_t

from .c_python cimport *
from .generated.tape cimport *
from .generated.sweeps cimport *
from .c_numbers cimport *
from .tape cimport (
    add_hook, are_zero, Checks, checks_of, Context, enter_step, entry_name, Hook, plan_shape,
    plan_view, remove_hook, rule_name, rule_views, strided_view,
)
from .atoms cimport components_of, ndim
from .recording cimport Recording

from .atoms import dual_components
from .guards import note_checking
from .arguments import element_name, index_text, leaves, take_apart


cdef set MOVING = {"_leaf", "_third", "_assign", "_scatter", "_add_at", "_gather", "positive"}


class NonFiniteError(FloatingPointError):
    """An operation gave nan or inf, as a value or as a derivative, inside of `nan_check`.

    Attributes
    ----------
    operation : str
        Its name.
    derivative : bool
        Whether it was its derivative, not its value.
    index : tuple of ints, or None
        The element, if the result is an array.
    filename, lineno, function
        Where the operation is written.
    """

    __module__ = "cadiff"

    operation = ""  #: str
    derivative = False  #: bool
    index = None  #: tuple[int, ...] | None
    filename = None  #: str | None
    lineno = None  #: int | None
    function = None  #: str | None


@cython.final
cdef class NanChecks(Checks):
    """Where one thread is in the program, and what it has found."""

    cdef int users          # of nan_check; where there are none, only places are noted
    cdef list places        # ((code, globals), file name, line, function, during), by their numbers
    cdef dict place_numbers

    def __cinit__(self):
        self.places = [None]
        self.place_numbers = {}

    cdef list suspects_of(self, object f, tuple args):
        return suspects_among(f, args)

    cdef int look_at_array(self, Hook hook, tuple shape) except -1:
        return 0 if self.users == 0 else look_at_array(hook, shape)

    cdef int look_at_rule(self, object rule, list operands, list results) except -1:
        """Whether what a primitive returned is finite."""
        if self.users == 0:
            return 0
        for result in results:
            bad = ~np.isfinite(result)
            if np.any(bad):
                index = tuple([int(i) for i in np.argwhere(bad)[0]])
                numbers = [cad_plain_value(x) for x in operands]
                complain_of_value(
                    self, rule_name(rule), result[index], numbers, index, result.shape
                )
        return 0

    cdef int sweep_record(self, CadTape *tape, size_t begin, size_t end, CadSlot base, bint linear,
                          CadNumber *adjoints) except -1:
        cdef size_t i
        for i in range(end, begin, -1):
            enter_step(tape, i - 1)
            check(cad_sweep_record(tape, i - 1, i, base, linear, adjoints))
            look_at_recorded(tape, i - 1, base, adjoints)
        return 0


cdef class Checking:
    """What nan_check is, in C: an interrupt finds it entered or left.

    One object may serve several threads, and nest.
    """

    cdef object of_thread  # the uses in each thread

    def __cinit__(self):
        self.of_thread = threading.local()

    def __enter__(self) -> Self:
        outer = getattr(self.of_thread, "uses", ())
        self.of_thread.uses = (*outer, CheckUse.__new__(CheckUse))
        return self

    def __exit__(self, *_):
        self.of_thread.uses = self.of_thread.uses[:-1]


@cython.final
cdef class CheckUse:
    """One use of nan_check, in one thread: from when it is made until it is gone."""

    cdef Hook hook

    def __cinit__(self):
        cdef NanChecks checks = NanChecks.__new__(NanChecks)
        self.hook = add_hook(cad_current_tape())
        if self.hook.checks is None:
            self.hook.checks = checks
        (<NanChecks>self.hook.checks).users += 1
        set_functions(self.hook)
        count_checks(1)
        note_checking()

    def __dealloc__(self):
        cdef size_t i
        cdef Hook hook = self.hook
        if hook is None:
            return
        count_checks(-1)
        (<NanChecks>hook.checks).users -= 1
        if (<NanChecks>hook.checks).users == 0:
            hook.checks = None
            for i in range(hook.tape.n_origins):
                hook.tape.origins[i].place = 0
        set_functions(hook)
        remove_hook(hook)


@cython.final
cdef class PlaceNotes(Context):
    """A context in which it is noted where each operation is written that this thread records."""

    cdef NanChecks checks

    def __enter__(self) -> PlaceNotes:
        cdef Hook hook = add_hook(cad_current_tape())
        if hook.checks is None:
            hook.checks = NanChecks.__new__(NanChecks)
            hook.functions.place = on_entry
        self.checks = <NanChecks>hook.checks
        self.begin(hook)
        return self

    cdef int end(self, CadTape *tape, object before) except -1:
        cdef Hook hook = before
        if (<NanChecks>hook.checks).users == 0:
            hook.checks = None
            set_functions(hook)
        return remove_hook(hook)

    def places(self, Recording recording) -> list[tuple[str, str, int]]:
        """For each operation of a recording its name, and the file and line it is written in."""
        cdef CadTape *tape = recording.tape
        cdef size_t i
        cdef list found = [], places = self.checks.places
        for i in range(recording.begin(), tape.n_entries):
            place = places[cad_tape_origin(tape, i).place]
            if place is not None:
                found.append((entry_name(tape, i), place[1], place[2]))
        return found


cdef int n_checks = 0


cdef void count_checks(int change):
    """Duals are looked at as long as any thread checks."""
    global n_checks
    n_checks += change
    if n_checks > 0:
        cad_state.dual_hook = dual_hook
    else:
        cad_state.dual_hook = NULL


cdef void set_functions(Hook hook):
    hook.functions.place = NULL
    hook.functions.number = NULL
    hook.functions.swept = NULL
    if hook.checks is not None:
        hook.functions.place = on_entry
        hook.functions.number = on_number
        hook.functions.swept = on_swept


# --- places in the program ----------------------------------------------------------------------

cdef dict inside_files = {}
cdef tuple OWN = (dirname(dirname(globals()["__file__"])), dirname(np.__file__))


cdef bint is_inside(object filename):
    """Whether a file is the package's own, or NumPy's."""
    inside = inside_files.get(filename)
    if inside is None:
        inside = inside_files[filename] = filename.startswith(OWN)
    return inside


cdef object frame_of_user(NanChecks checks):
    """The innermost frame of a user's code; None if it is a step of a sweep that is the cause."""
    frame = outermost = sys._getframe()
    while frame is not None:
        if checks.step is not None and frame is checks.step_frame:
            return None
        if not is_inside(frame.f_code.co_filename):
            return frame
        frame, outermost = frame.f_back, frame
    return outermost


cdef object current_place(NanChecks checks):
    """The number of the place where the user's program is."""
    frame = frame_of_user(checks)
    if frame is None:
        key = checks.step
    else:
        key = id(frame.f_code), frame.f_lasti, checks.step
    number = checks.place_numbers.get(key)
    if number is None:
        if frame is None:
            name, place = checks.step
            whole = checks.places[place]
            entry = (*(whole[:4] if whole is not None else (None,) * 4), (name, None))
        else:
            code = frame.f_code
            kept = code, frame.f_globals
            function = getattr(code, "co_qualname", code.co_name)
            entry = kept, code.co_filename, frame.f_lineno, function, checks.step
        number = checks.place_numbers[key] = len(checks.places)
        checks.places.append(entry)
    return number


cdef uint32_t on_entry(void *holder) noexcept:
    # The collector would run finalizers, and these may append entries. Nor does anything else
    # here run code of Python's, in which an interrupt might come that cannot be handed on.
    cdef bint collecting = PyGC_Disable()
    try:
        return current_place((<Hook>holder).checks)
    except MemoryError:
        return 0
    finally:
        if collecting:
            PyGC_Enable()


# --- the error ----------------------------------------------------------------------------------

def value_text(x) -> str:
    """A number, or an array on one line and abridged."""
    x = cad_plain_value(x) if CAD_IS_VAR(x) or CAD_IS_DUAL(x) else x
    if ndim(x) == 0:
        return repr(float(x))
    text = np.array2string(np.asarray(x), threshold=8, edgeitems=2, max_line_width=10**6)
    return " ".join(text.split())


cdef object location(tuple place):
    """Where something is written, as tracebacks have it."""
    kept, filename, lineno, function, _ = place
    line = linecache.getline(filename, lineno or 0, None if kept is None else kept[1]).strip()
    where = f'\n  File "{filename}", line {lineno}, in {function}\n'
    return where + (f"    {line}" if line else "    (there is no source text)")


cdef object call_text(object name, list operands):
    name = "multiply" if name == "_amul" else name.removeprefix("_")
    return f"{name}({', '.join([value_text(x) for x in operands])})"


cdef int complain(NanChecks checks, object name, object text, list operands, object index=None,
                  object shape=None, bint derivative=False, object place=None) except -1:
    """Raise the error. text: what happened, up to the element."""
    if place is None:
        place = current_place(checks)
    where = checks.places[place] or (None,) * 5
    _, filename, lineno, function, during = where
    if index:
        text += f", in element {index_text(index)} of shape {shape}"
    whole = None if during is None else during[0]
    if cad_state.partial_of >= 0 and whole is None:
        whole = cad_op_info[cad_state.partial_of].name.decode()
    if whole is not None:
        text += f", in the derivative of {whole.removeprefix('_')}"
        if during is None or during[1] is None:  # a step that the user did not write
            name = whole
    if filename is not None:
        text += location(where)
    if during is not None and during[1] and checks.places[during[1]][1] is not None:
        text += "\n  which belongs to the derivative of" + location(checks.places[during[1]])
    if not all([bool(np.all(np.isfinite(x))) for x in operands]):
        named = [given for names in checks.suspects for given in names]
        text += "\n  an operand was not finite before: " + (
            f"of the arguments, {', '.join(named)}" if named else "a constant, or made elsewhere"
        )
    error = NonFiniteError(text)
    error.operation = "multiply" if name == "_amul" else name.removeprefix("_")
    error.derivative = derivative or whole is not None or name == "_amul"
    error.index = index if index else None
    error.filename, error.lineno, error.function = filename, lineno, function
    raise error


cdef int complain_of_value(NanChecks checks, object name, double value, list operands,
                           object index=None, object shape=None) except -1:
    text = f"{call_text(name, operands)} is {value!r}"
    return complain(checks, name, text, operands, index, shape)


cdef tuple index_of(Py_ssize_t k, shape):
    """The index of the k-th element in C order."""
    return tuple(map(int, np.unravel_index(k, shape)))


def argument_names(f, Py_ssize_t count) -> list[str]:
    """The names of a function's positional arguments: those in its signature, else args[k]."""
    names = []
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        parameters = ()
    for parameter in parameters:
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            if parameter.kind == parameter.VAR_POSITIONAL:
                names += [f"{parameter.name}[{k}]" for k in range(count - len(names))]
            break
        names.append(parameter.name)
    return (names + [f"args[{k}]" for k in range(len(names), count)])[:count]


def suspects_among(f, tuple args) -> list[str]:
    """The numbers in arguments that are not finite, the first few of each, by their names."""
    names = []
    for name, arg in zip(argument_names(f, len(args)), args):
        try:
            atoms, structure = take_apart((arg,), (0,))
        except TypeError:  # something else, which is not differentiated
            continue
        numbers = np.concatenate([np.empty(0), *[np.ravel(cad_plain_value(x)) for x in atoms]])
        parts = leaves(structure, [name])
        for k in np.flatnonzero(~np.isfinite(numbers))[:5].tolist():
            (leaf,) = [leaf for leaf in parts if leaf[0] <= k < leaf[0] + leaf[1]]
            names.append(f"{element_name(leaf, k)} is {float(numbers[k])!r}")
    return names


# --- values -------------------------------------------------------------------------------------

cdef inline bint is_finite(double x) noexcept:
    return x - x == 0.0


cdef CadStatus on_number(void *holder, CadOp op, const double *operands,
                         double value) except CAD_RAISED:
    if not is_finite(value) and <int>op != CAD_OP_positive:
        complain_of_value(
            (<Hook>holder).checks, cad_op_info[<int>op].name.decode(), value,
            [operands[k] for k in range(cad_op_info[<int>op].arity)],
        )
    return CAD_OK


cdef int look_at_array(Hook hook, tuple shape) except -1:
    """Whether the values that the last entry computed are finite."""
    cdef CadTape *tape = hook.tape
    cdef size_t entry = tape.n_entries - 1
    cdef CadEntry e = tape.entries[entry]
    cdef Py_ssize_t k, n = prod(shape)
    cdef CadPlan *plan
    name = entry_name(tape, entry)
    for k in range(n):
        if not is_finite(tape.values[e.out + k]):
            break
    else:
        return 0
    if name in MOVING:
        return 0
    plan = cad_tape_plan(tape, e)
    index = index_of(k, shape)
    if cad_op_is_row(CAD_CODE_OP(e.code)):
        place = place_in_plan(plan, e.out + k)
        operands = numbers_in_plan(tape, plan, place)
    else:
        operands = [whole_operand(tape, plan, v) for v in range(1, plan.n_views)]
    return complain_of_value(hook.checks, name, tape.values[e.out + k], operands, index, shape)


cdef object place_in_plan(CadPlan *plan, size_t slot):
    """The first index, in the shape of a plan, of the result at a slot."""
    cdef int64_t *view = cad_plan_view(plan, 0)
    slots = np.full(plan_shape(plan), view[0], np.int64)
    for i in range(plan.ndim):
        lengths = [1] * plan.ndim
        lengths[i] = cad_plan_shape(plan)[i]
        slots = slots + (np.arange(lengths[i]) * view[1 + i]).reshape(lengths)
    return np.unravel_index(int(np.argmax(slots == slot)), plan_shape(plan)) if plan.ndim else ()


cdef int64_t slot_in_plan(CadPlan *plan, int k, tuple place) except -1:
    cdef int64_t *view = cad_plan_view(plan, k)
    cdef int64_t slot = view[0]
    for i in range(plan.ndim):
        slot += view[1 + i] * <int64_t>place[i]
    return slot


cdef list numbers_in_plan(CadTape *tape, CadPlan *plan, tuple place):
    """The values of all operands at an index."""
    slots = [slot_in_plan(plan, k, place) for k in range(1, plan.n_views)]
    return [cad_tape_values(tape, <int64_t>slot)[<int64_t>slot] for slot in slots]


cdef object whole_operand(CadTape *tape, CadPlan *plan, int k):
    """A view without the axes along which it is repeated."""
    cdef int64_t *view = cad_plan_view(plan, k)
    axes = [i for i in range(plan.ndim) if view[1 + i] != 0]
    shape = tuple([cad_plan_shape(plan)[i] for i in axes])
    strides = tuple([view[1 + i] for i in axes])
    return cad_plain_value(strided_view(tape, <CadSlot>view[0], shape, strides))


# --- derivatives, by reverse mode ---------------------------------------------------------------

cdef CadStatus on_swept(void *holder, size_t entry) except CAD_RAISED:
    """A reverse sweep has carried out the entry."""
    cdef Hook hook = <Hook>holder
    cdef CadTape *tape = hook.tape
    cdef CadEntry e = tape.entries[entry]
    if <int>CAD_CODE_OP(e.code) == CAD_OP_positive or cad_entry_kind(e).is_moved:
        return CAD_OK
    if cad_entry_is_rule(e):
        look_at_rule_adjoints(hook, entry)
        return CAD_OK
    if CAD_IS_ARRAY_ENTRY(e):
        look_at_views(hook, entry)
        return CAD_OK
    operands = scalar_operands(tape, entry)
    for k, (slot, passive) in enumerate(operands):
        if not passive and not is_finite(tape.adjoints[slot]) and tape.adjoints[e.out] != 0.0:
            complain_of_partial(
                hook.checks, tape, entry, k, [tape.values[place] for place, _ in operands],
                tape.values[e.out], tape.adjoints[e.out],
            )
    return CAD_OK


cdef list scalar_operands(CadTape *tape, size_t entry):
    """Pairs (slot, whether it is passive)."""
    cdef CadEntry e = tape.entries[entry]
    cdef int arity = cad_op_info[<int>CAD_CODE_OP(e.code)].arity
    if arity == 3:
        return [(e.a, False), (e.b, False), (tape.entries[entry - 1].a, False)]
    return [(e.a, bool(e.code & CAD_PASSIVE_A)), (e.b, bool(e.code & CAD_PASSIVE_B))][:arity]


cdef int complain_of_partial(NanChecks checks, CadTape *tape, size_t entry, int k, list operands,
                             double v, double g, object index=None, object shape=None) except -1:
    """An operation handed on what is not finite to operand k."""
    cdef int op = <int>CAD_CODE_OP(tape.entries[entry].code)
    cdef double partial
    name = cad_op_info[op].name.decode()
    call = call_text(name, operands)
    x = operands[0]
    y = operands[1] if len(operands) > 1 else x
    z = operands[2] if len(operands) > 2 else x
    partial = cad_object_partial(op, k, x, y, z, v)
    by = f" by its {ORDINALS[k]} operand" if len(operands) > 1 else ""
    text = f"the derivative of {call}{by} is {partial!r}, times {g!r} from what follows it"
    if not is_finite(g):
        text = f"the derivative by {call} is {g!r}: the cotangent was not finite"
    elif is_finite(partial * g):
        text += ": the sum of such products overflows"
    return complain(
        checks, name, text, operands, index, shape, True, cad_tape_origin(tape, entry).place
    )


cdef tuple ORDINALS = ("first", "second", "third")


cdef int look_at_views(Hook hook, size_t entry) except -1:
    cdef CadTape *tape = hook.tape
    cdef CadEntry e = tape.entries[entry]
    cdef CadPlan *plan = cad_tape_plan(tape, e)
    cdef int op = <int>CAD_CODE_OP(e.code)
    cdef int k
    cdef int64_t low, high
    cad_plan_bounds(plan, 0, &low, &high)
    if cad_tape_is_untouched(tape, <CadSlot>low):
        return 0
    for k in range(1, plan.n_views):
        cad_plan_bounds(plan, k, &low, &high)
        if plan.passive >> k & 1 or cad_tape_is_untouched(tape, <CadSlot>low):
            continue
        places = np.argwhere(~np.isfinite(adjoints_in_plan(tape, plan, k)))
        if len(places) == 0:
            continue
        if cad_entry_kind(e).core:
            name = cad_op_info[op].name.decode()[1:]
            operands = [whole_operand(tape, plan, v) for v in range(1, plan.n_views)]
            text = (
                f"the derivative of {call_text(name, operands)} by its {ORDINALS[k - 1]} "
                "operand is not finite"
            )
            complain(
                hook.checks, name, text, operands, None, None, True,
                cad_tape_origin(tape, entry).place,
            )
        place = worst_place(tape, plan, op, k, places)
        if place is not None:
            complain_at(hook, entry, k, place)
    return 0


cdef int complain_at(Hook hook, size_t entry, int k, tuple place) except -1:
    cdef CadTape *tape = hook.tape
    cdef CadPlan *plan = cad_tape_plan(tape, tape.entries[entry])
    cdef int64_t slot = slot_in_plan(plan, 0, place)
    shape = hook.shapes[cad_tape_origin(tape, entry).shape]
    index = None
    if shape is not None:
        index = index_of(slot - <int64_t>tape.entries[entry].out, shape)
    return complain_of_partial(
        hook.checks, tape, entry, k - 1, numbers_in_plan(tape, plan, place),
        tape.values[slot], cad_tape_adjoints(tape, slot)[slot], index, shape,
    )


cdef object adjoints_in_plan(CadTape *tape, CadPlan *plan, int k):
    return copy_of_view(tape, cad_tape_adjoints(tape, cad_plan_view(plan, k)[0]), plan, k)


cdef object values_in_plan(CadTape *tape, CadPlan *plan, int k):
    return copy_of_view(tape, cad_tape_values(tape, cad_plan_view(plan, k)[0]), plan, k)


cdef object copy_of_view(CadTape *tape, double *buffer, CadPlan *plan, int k):
    """A view of a plan over a buffer, as an array of the plan's shape."""
    cdef int64_t slot = cad_plan_view(plan, k)[0]
    if plan.ndim == 0:
        return np.array(buffer[slot])
    var = plan_view(tape, plan, k, <CadSlot>slot)
    return cad_var_transient(CAD_VAR(var), buffer, 0).copy()


cdef object worst_place(CadTape *tape, CadPlan *plan, int op, int k, object places):
    """The first index, in the shape of the plan, whose contribution is not finite, or at least
    belongs to an adjoint that is not."""
    numbers = [values_in_plan(tape, plan, v) for v in range(1, plan.n_views)]
    x = numbers[0]
    y = numbers[1] if len(numbers) > 1 else x
    z = numbers[2] if len(numbers) > 2 else x
    g = adjoints_in_plan(tape, plan, 0)
    with np.errstate(all="ignore"):
        partial = cad_object_partial(op, k - 1, x, y, z, values_in_plan(tape, plan, 0))
        terms = np.where((g == 0.0) | (np.asarray(partial) == 0.0), 0.0, g * partial)
    bad = np.argwhere(~np.isfinite(terms))
    if len(bad) == 0:
        bad = [place for place in places.tolist() if g[tuple(place)] != 0.0]
    return tuple([int(i) for i in bad[0]]) if len(bad) else None


cdef int look_at_rule_adjoints(Hook hook, size_t entry) except -1:
    cdef CadTape *tape = hook.tape
    rule, operands, outs = rule_views(tape, entry)
    cotangents = [cad_var_adjoint(CAD_VAR(out)) for out in outs]
    if are_zero(cotangents):
        return 0
    for k, operand in enumerate(operands):
        adjoint = np.asarray(cad_var_adjoint(CAD_VAR(operand)))
        bad = np.argwhere(~np.isfinite(adjoint))
        if len(bad):
            index = tuple([int(i) for i in bad[0]])
            name = rule_name(rule)
            numbers = [cad_plain_value(x) for x in operands]
            given = ", ".join([value_text(g) for g in cotangents])
            by = f" by its {ORDINALS[k]} operand" if 1 < len(operands) <= 3 else ""
            text = (
                f"the rule for the derivative of {call_text(name, numbers)}{by} gives "
                f"{float(adjoint[index])!r} for {given} from what follows it"
            )
            complain(
                hook.checks, name, text, numbers, index, adjoint.shape, True,
                cad_tape_origin(tape, entry).place,
            )
    return 0


cdef int look_at_recorded(CadTape *tape, size_t entry, CadSlot base,
                          CadNumber *adjoints) except -1:
    """Check what a reverse sweep handed on at an entry, where adjoints are numbers of the tape."""
    cdef CadEntry e = tape.entries[entry]
    cdef int op = <int>CAD_CODE_OP(e.code)
    cdef double g
    if not cad_op_is_row(<CadOp>op) or op == CAD_OP_positive:
        return 0
    g = adjoints[e.out - base].value
    operands = scalar_operands(tape, entry)
    for k, (slot, passive) in enumerate(operands):
        if not passive and slot >= base and not is_finite(adjoints[<CadSlot>slot - base].value):
            if g != 0.0 or adjoints[e.out - base].slot != CAD_NONE:
                complain_of_partial(
                    checks_of(tape), tape, entry, k, [tape.values[place] for place, _ in operands],
                    tape.values[e.out], g,
                )
    return 0


# --- Duals --------------------------------------------------------------------------------------

cdef int dual_hook(CadOp op, PyObject *const *operands, object dual) except -1:
    """A Dual was made by an operation of the table: 0, or -1 with an exception."""
    cdef NanChecks checks = checks_of(cad_current_tape())
    if checks is None or <int>op == CAD_OP_positive:
        return 0
    numbers = [cad_plain_value(<object>operands[k]) for k in range(cad_op_info[<int>op].arity)]
    shape = np.shape(cad_plain_value(dual))
    if shape:
        numbers = [np.broadcast_to(x, shape) for x in numbers]
    return look_at_dual(checks, cad_op_info[<int>op].name.decode(), numbers, dual, True)


cdef int look_at_dual(NanChecks checks, object name, list operands, object dual,
                      bint elementwise) except -1:
    """Whether the components of a result are finite. Operands are plain; elementwise ones have the
    shape of the result."""
    primal, tangent = dual_components(dual)
    shape = np.shape(cad_plain_value(primal))
    for derivative, part in ((False, primal), (True, tangent)):
        for lane in part if isinstance(part, tuple) else (part,):
            if CAD_IS_VAR(lane) or CAD_IS_DUAL(lane):
                continue  # was looked at when it was made
            bad = np.argwhere(~np.isfinite(lane))
            if len(bad) == 0:
                continue
            place = tuple([int(i) for i in bad[0]])
            index = place[: len(shape)]
            number = float(np.asarray(lane)[place])
            numbers = [x[index] for x in operands] if elementwise and shape else operands
            of = "the derivative of " if derivative else ""
            text = f"{of}{call_text(name, numbers)} is {number!r}"
            complain(checks, name, text, numbers, index, shape, derivative)
    return 0


def seen(result, operation: str, *operands):
    """The Dual that an operation made of others, after a look at it while nan_check is on."""
    cdef NanChecks checks
    if n_checks == 0 or not CAD_IS_DUAL(result):
        return result
    checks = checks_of(cad_current_tape())
    if checks is not None and all([is_plainly_finite(x) for x in operands]):
        look_at_dual(checks, operation, [cad_plain_value(x) for x in operands], result, False)
    return result


cdef bint is_plainly_finite(object x):
    if CAD_IS_DUAL(x):
        return all([is_plainly_finite(part) for part in components_of(x)])
    return bool(np.all(np.isfinite(cad_plain_value(x))))
