"""Forward differentiations under way: each has a tag, which tells its Duals from others."""

import numpy as np

cimport cython
from libc.math cimport isnan

from .generated.entries cimport *
from . cimport c_numpy as cnp
from .generated.tape cimport *
from .c_numbers cimport *
from .tape cimport forget_suspects, note_suspects, Context
from .atoms cimport components_of, is_plain, ndim, numbers_in, read_only, shape
from .guards cimport explain_error

from .atoms import dual_components, make_dual, map_numbers, tag_of


cdef dict running = {}  # by tape: the forward differentiations under way, outer ones first
cdef list aside = []  # what is not under way as long as others are: see ForwardThen
cdef tuple NOTHING = (0, frozenset())
cdef dict hidden = {}  # by tape: how many recordings, and which tags, are hidden: see OutsideDifferentiation


@cython.final
cdef class Forward(Context):
    """A forward differentiation along so many lanes (-1: a single direction): a context.

    Entering it gives the tag of its Duals. While it is under way, Duals made by hand are given
    higher tags: to them its variables are constants.
    """

    cdef object lanes
    cdef object call      # (function, args): for error messages, if they are to say more

    def __init__(self, lanes: int = -1,
                 call: tuple[Callable[..., Any], tuple[Any, ...]] | None = None):
        self.lanes = lanes
        self.call = call

    def __enter__(self) -> int:
        cdef CadTape *tape = cad_current_tape()
        suspects = None
        if tape.hook != NULL and self.call is not None:
            f, args = self.call
            suspects = note_suspects(tape, f, args)
        tape.running_tag = cad_fresh_tag()
        running.setdefault(<size_t>tape, []).append((tape.running_tag, self.lanes))
        self.begin(suspects)
        return tape.running_tag

    def __exit__(self, *exception):
        self.leave()
        if exception[1] is not None:
            explain_error(exception[1])

    cdef int end(self, CadTape *tape, object suspects) except -1:
        forget_suspects(tape, suspects)
        return set_running(tape, running[<size_t>tape][:-1])


@cython.final
cdef class ForwardThen(Context):
    """Forward differentiations that were under way once, as running_forward told, are so again: a
    context."""

    cdef list then

    def __init__(self, then: list[tuple[int, int]]):
        self.then = then

    def __enter__(self) -> None:
        before = running_forward()
        aside.append(before)
        self.begin(before)
        set_running(self.entered, self.then)

    cdef int end(self, CadTape *tape, object before) except -1:
        set_running(tape, before)
        aside.remove(before)
        return 0


@cython.final
cdef class OutsideDifferentiation(Context):
    """A context: results of a function of plain numbers belong to no differentiation under way,
    unless the function began it itself.

    With a tag: results of a rule belong to no forward differentiation of that tag or within it.
    """

    cdef CadTag tag

    def __init__(self, tag: int = 0):
        self.tag = tag

    def __enter__(self) -> None:
        cdef CadTape *tape = cad_current_tape()
        before = hidden.get(<size_t>tape)
        recordings, tags = before or NOTHING
        if tape.running_tag > 0:
            tags = tags | {tag for tag, _ in running_forward() if tag >= self.tag}
        hidden[<size_t>tape] = recordings if self.tag else tape.n_marks, tags
        self.begin(before)

    cdef int end(self, CadTape *tape, object before) except -1:
        if before is None:
            del hidden[<size_t>tape]
        else:
            hidden[<size_t>tape] = before
        return 0


@cython.final
cdef class OutsideRecordings(Context):
    """A context: what a function of plain numbers does belongs to no recording under way, and
    programs that it calls serve as they do without one."""

    def __enter__(self) -> None:
        as_numpy = cad_current_tape().as_numpy
        before = cad_enter_new_tape()
        cad_current_tape().as_numpy = as_numpy
        self.begin(before)

    cdef int end(self, CadTape *tape, object before) except -1:
        return cad_return_to_tape(before)


cdef int set_running(CadTape *tape, list under_way) except -1:
    tape.running_tag = under_way[len(under_way) - 1][0] if under_way else 0
    running.pop(<size_t>tape, None)
    if under_way:
        running[<size_t>tape] = list(under_way)
    return 0


def running_forward() -> list[tuple[int, int]]:
    """The forward differentiations under way in this thread: a list of (tag, lanes)."""
    return list(running.get(<size_t>cad_current_tape(), ()))


def open_forward() -> list[tuple[int, int]]:
    """Those of them for which arrays are made: see OutsideDifferentiation."""
    _, tags = hidden.get(<size_t>cad_current_tape(), NOTHING)
    return [one for one in running_forward() if one[0] not in tags]


def under_way(atom):
    """A number or array as one of all forward differentiations under way, without derivatives by
    those that it is not of."""
    return lifted_under(open_forward(), atom)


cdef object lifted_under(list under_way, object atom):
    """A Dual of these differentiations, of which outer ones come first."""
    own = tag_of(atom)
    if own > 0:
        primal, tangent = dual_components(atom)
        outer = [one for one in under_way if one[0] < own]
        if tag_of(primal) < max(outer, default=NOTHING)[0]:
            atom = make_dual(lifted_under(outer, primal), tangent, own)
    for tag, lanes in under_way:
        if own < tag:
            lengths = (*shape(atom), lanes) if lanes >= 0 else shape(atom)
            zeros = np.zeros(lengths)
            atom = make_dual(atom, zeros if lengths else 0.0, tag)
    return atom


cdef bint is_begun(CadTag tag) except -1:
    """Whether the forward differentiation of a tag is not over, in any thread."""
    return tag == cad_current_tape().running_tag or any([
        tag == <CadTag>one for under_way in [*running.values(), *aside] for one, _ in under_way
    ])


cdef bint is_over(atom) except -1:
    """Whether a number has outlived the computation that it belongs to: its value is left.

    One that an inner derivative has left is alive as long as outer ones that it carries are.
    """
    cdef CadTag tag
    if CAD_IS_VAR(atom):
        return CAD_VAR(atom).kind == CAD_STALE
    if not CAD_IS_DUAL(atom):
        return False
    tag = CAD_DUAL(atom).tag
    if not cad_is_of_transform(tag) or is_begun(tag):
        return False
    return all([is_over(part) or is_plain(part) for part in components_of(atom)])


cdef public int cad_is_over(object number) except -1:
    return is_over(number)


cdef public object cad_constant_value(object number):
    return cad_plain_value(number) if is_plain(number) or is_over(number) else None


def readable_values(tree):
    """As plain_constants, but numbers that have outlived their computation are plain, too."""
    cdef list numbers = numbers_in(tree)
    if not numbers or not all([is_plain(number) or is_over(number) for number in numbers]):
        return None
    return map_numbers(tree, read_only)


def is_differentiating() -> bool:
    """Whether a gradient function is at work in this thread, for which arrays are made."""
    cdef CadTape *tape = cad_current_tape()
    recordings, _ = hidden.get(<size_t>tape, NOTHING)
    if tape.n_marks > <size_t>recordings:
        return True
    return tape.running_tag > 0 and len(open_forward()) > 0


def is_forward() -> bool:
    """Whether a forward differentiation is under way in this thread."""
    return cad_current_tape().running_tag > 0


def stop_gradient(x):
    """The number without its derivative.

    A number stays a number: a Var gives a Var, a Dual a Dual of tangent 0. An array Var gives its
    values; lists, tuples, dicts and object arrays the same with values in place of numbers.
    """
    if CAD_IS_VAR(x):
        if cad_state.guarding > 0 and cad_guarded_tape(x) != NULL:
            return cad_apply1(CAD_OP_stop, x)  # for a replay, which finds another value
        if CAD_IS_VAR_ARRAY(x) and not cad_is_single_number(x):
            return cad_plain_value(x)
        if CAD_IS_VAR_ARRAY(x):
            return cad_array_constant(CAD_VAR(x).tape, np.asarray(cad_plain_value(x)))
        return cad_var_passive(CAD_VAR(x).value)
    if CAD_IS_DUAL(x):
        tangent = cad_dual_tangent(CAD_DUAL(x))
        zero = np.zeros(shape(tangent)) if ndim(tangent) else 0.0
        if ndim(tangent) and CAD_DUAL(x).kind != CAD_DUAL_ARRAY:
            zero = tuple(zero.tolist())
        return cad_dual_from(stopped(x), zero, CAD_DUAL(x).tag)
    return map_numbers(x, stopped)


def differential(x):
    """The number without its value, -0.0: what is added to it has its derivatives."""
    return cad_apply1(CAD_OP_differential, x)


cdef object stopped(object number):
    """A number of a container, or a Dual's primal, without derivatives: its value."""
    if cad_state.guarding > 0 and cad_guarded_tape(number) != NULL:
        return cad_apply1(CAD_OP_stop, <object>cad_innermost(number))
    return cad_plain_value(number)


# --- of a function at plain points


def push_plain(f: Callable[..., Any], tuple primals, tuple tangents,
               finish: Callable[[Any, int], Any], int lanes=-1) -> Any:
    """What f gives along floats, or arrays of float64, in no other differentiation: a value and a
    tangent of these types; else what `finish(out, tag)` makes of it, which is asked if there is a
    nan, too. With `lanes` all are arrays, and tangents have an axis more.

    NotImplemented, f not being run, of other arguments.
    """
    cdef CadTape *tape = cad_current_tape()
    cdef CadDual *result
    cdef Py_ssize_t k
    if tape.hook != NULL or tape.running_tag != 0 or tape.n_marks != 0 or len(primals) != len(tangents):
        return NotImplemented
    for k in range(len(primals)):
        if not are_alike(primals[k], tangents[k], lanes):
            return NotImplemented
    if not callable(f) or hasattr(type(f), "_own_derivative"):
        return NotImplemented
    with Forward(lanes) as tag:
        out = f(*[
            cad_dual_from(copied(primals[k]), copied(tangents[k]), tag)
            for k in range(len(primals))
        ])
        if CAD_IS_DUAL(out) and CAD_DUAL(out).tag == <CadTag>tag:
            result = CAD_DUAL(out)
            if result.kind == CAD_DUAL_FLOAT:
                if not (isnan(result.primal) or isnan(result.tangent)):
                    return result.primal, result.tangent
            elif result.kind == CAD_DUAL_ARRAY and not cad_is_single(out):
                primal, tangent = dual_components(out)
                if are_alike(primal, tangent, lanes) and not (has_nan(primal) or has_nan(tangent)):
                    return copied(primal), copied(tangent)
        return finish(out, tag)


cdef bint are_alike(primal, tangent, int lanes):
    """Whether both are floats, or contiguous arrays of float64 of one shape, but for lanes."""
    if type(primal) is float:
        return type(tangent) is float and lanes < 0
    return (
        cnp.PyArray_CheckExact(primal) and cnp.PyArray_CheckExact(tangent)
        and cnp.PyArray_TYPE(primal) == cnp.PyArray_TYPE(tangent) == cnp.NPY_DOUBLE
        and cnp.PyArray_ISCARRAY_RO(primal) and cnp.PyArray_ISCARRAY_RO(tangent)
        and 0 < cnp.PyArray_NDIM(primal) == cnp.PyArray_NDIM(tangent) - (lanes >= 0)
        and (lanes < 0 or cnp.PyArray_DIM(tangent, cnp.PyArray_NDIM(primal)) == lanes)
        and cnp.PyArray_CompareLists(
            cnp.PyArray_DIMS(primal), cnp.PyArray_DIMS(tangent), cnp.PyArray_NDIM(primal)
        )
    )


cdef object copied(object atom):
    if type(atom) is float:
        return atom
    return cnp.PyArray_FROMANY(atom, cnp.NPY_DOUBLE, 0, 0, cnp.NPY_ARRAY_ENSURECOPY)


cdef bint has_nan(cnp.ndarray array):
    cdef const double *data = <const double *>cnp.PyArray_DATA(array)
    cdef Py_ssize_t k
    for k in range(cnp.PyArray_SIZE(array)):
        if isnan(data[k]):
            return True
    return False
