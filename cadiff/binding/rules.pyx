"""Rules: operations whose derivatives are Python functions, recorded and met by sweeps; and the steps
of programs, which are calls of them."""

from contextvars import copy_context
from math import prod

import numpy as np

cimport cython
from cpython.contextvars cimport PyContextVar_Reset, PyContextVar_Set
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy

from . cimport c_numpy as cnp
from .generated.tape cimport *
from .generated.sweeps cimport *
from .c_numbers cimport *
from .tape cimport (
    are_zero, Context, DirectRule, enter_step, is_constant, leave_step, look_at_rule, MOST_AXES,
    rule_at, rule_name, rule_views,
)
from .atoms cimport carries, highest_tag, is_plain, shape
from .guards cimport ValuesTaken
from .forward cimport Forward

from .atoms import dual_components, make_dual, split_dual, values_in_place
from .guards import depends, note_rule, taken_error


cdef list read_values(rule, list operands):
    """The values of operands; zeros for those that the rule does not read, None for those of a
    linear one, which needs none."""
    if rule.is_linear:
        return [None] * len(operands)
    unread = getattr(rule, "unread", None)
    if unread is None:
        return [cad_plain_value(x) for x in operands]
    return [zeros_like(x) if skip and cad_ndim(x) > 0 else cad_plain_value(x)
            for x, skip in zip(operands, unread)]


cdef object zeros_like(x):
    """Zeros in the shape of an array, which take no memory as long as nobody reads them."""
    cdef tuple lengths = shape(x)
    cdef cnp.npy_intp dims[MOST_AXES]
    cdef int i
    for i in range(len(lengths)):
        dims[i] = lengths[i]
    return cnp.PyArray_ZEROS(len(lengths), dims, cnp.NPY_DOUBLE, 0)


cdef list values_for(rule, list numbers):
    """The values of operands or results; None for those of a linear rule, which needs none."""
    return [None] * len(numbers) if rule.is_linear else [cad_plain_value(x) for x in numbers]


cdef object adjoints_in_place(CadTape *tape, var):
    """The adjoints of a contiguous Var where they stand, to be read until the pass goes on."""
    cdef size_t low, high
    if not CAD_IS_VAR_ARRAY(var) or CAD_VAR(var).view.size == 0:
        return cad_var_adjoint(CAD_VAR(var))
    cad_var_bounds(CAD_VAR(var), &low, &high)
    cad_tape_prepare_adjoints(tape, low, high)
    return cad_var_transient(CAD_VAR(var), cad_tape_adjoints(tape, <int64_t>low), 0)


cdef object plain_term(rule, term):
    """What a rule gave in a sweep of plain numbers, which has no place for derivatives."""
    if not is_plain(term):
        raise TypeError(
            f"the primitive {rule_name(rule)}: a rule uses a number that carries a derivative, "
            "which would be lost: pass that to the primitive as a further argument, or "
            "cadiff.value of it to the rule"
        )
    return cad_plain_value(term)


cdef int pull_rule(CadTape *tape, size_t index, rule) except -1:
    """Hand on the adjoints of a rule's results: what a sweep does at such an entry."""
    cdef CadPass put_aside
    cdef list operands, outs
    _, operands, outs = rule_views(tape, index)
    if rule.is_linear:  # which keeps nothing of them
        cotangents = [adjoints_in_place(tape, out) for out in outs]
    else:
        cotangents = [cad_var_adjoint(CAD_VAR(out)) for out in outs]
    if are_zero(cotangents):
        return 0
    former = None
    check(cad_tape_leave_pass(tape, &put_aside))
    cad_tape_pin(tape)
    try:
        former = enter_step(tape, index)  # which asks Python for names
        if rule.runs_again:
            terms = rule.pull_again(operands, outs, cotangents)
        else:
            terms = rule.pull_cotangents(read_values(rule, operands), values_for(rule, outs), cotangents)
    finally:
        cad_tape_resume_pass(tape, put_aside)
        cad_tape_unpin(tape)
        leave_step(tape, former)
    for operand, term in zip(operands, terms):
        if term is not None:
            cad_var_seed(CAD_VAR(operand), plain_term(rule, term))
    return 0


cdef int rule_hook(CadTape *tape, size_t index) except -1:
    """What C calls."""
    rule = rule_at(tape, index)
    if isinstance(rule, DirectRule):
        return (<DirectRule>rule).pull_here(tape, index)
    return pull_rule(tape, index, rule)
cad_state.rule_hook = rule_hook


# In second-order sweeps along one direction, an operation with a rule sees Duals: its rule for
# tangents gives those of the results, its rule for cotangents gives these with their tangents.

cdef class Along:
    """A buffer with a number for each slot from `base` on, as arrays of the shapes of Vars. Sweeps
    leave those of constants as they find them: these are 0, whatever stands there."""

    cdef cnp.ndarray numbers
    cdef CadSlot base

    cdef part(self, var):
        """A view of the numbers of a Var; None if they do not stand one behind the other."""
        if cad_ndim(var) == 0 or not cad_var_is_contiguous(CAD_VAR(var)):
            return None
        first = CAD_VAR(var).slot - self.base
        return self.numbers[first : first + prod(shape(var))].reshape(shape(var))

    cdef slots(self, var):
        return cad_var_slots(CAD_VAR(var)) - self.base

    cdef values_of(self, var):
        if cad_tape_is_constant(CAD_VAR(var).tape, CAD_VAR(var).slot):
            return zeros_like(var) if cad_ndim(var) > 0 else 0.0
        part = self.part(var)
        if part is not None:
            return part.copy()
        part = self.numbers[self.slots(var)]
        return part if cnp.PyArray_Check(part) else float(part)

    cdef add(self, var, term):
        part = self.part(var)
        if part is not None:
            part += term
        else:
            np.add.at(self.numbers, self.slots(var), term)

    cdef clear(self, var):
        part = self.part(var)
        if part is not None:
            part[...] = 0.0
        else:
            self.numbers[self.slots(var)] = 0.0


cdef Along along_lane(CadTape *tape, CadLanes lanes, size_t lane):
    cdef cnp.npy_intp[2] lengths
    cdef Along along = Along.__new__(Along)
    lengths[0], lengths[1] = tape.n_slots - lanes.base, lanes.count
    whole = cnp.PyArray_SimpleNewFromData(2, lengths, cnp.NPY_DOUBLE, lanes.data)
    along.numbers = whole[:, lane]
    along.base = lanes.base
    return along


cdef int push_rule(CadTape *tape, size_t index, CadLanes lanes, rule) except -1:
    """Tangents of a rule's results."""
    cdef size_t lane
    cdef Along tangents
    cdef list operands, outs
    _, operands, outs = rule_views(tape, index)
    for lane in range(lanes.count):
        tangents = along_lane(tape, lanes, lane)
        along = [tangents.values_of(x) for x in operands]
        for out in outs:
            tangents.clear(out)
        if not are_zero(along):
            pushed = rule.push_tangents(values_for(rule, operands), values_for(rule, outs), along)
            for out, tangent in zip(outs, pushed):
                tangents.add(out, plain_term(rule, tangent))
    return 0


cdef int prepare_along(CadTape *tape, const CadAlong *along, var) except -1:
    """Make the adjoints of a Var, and their tangents, ready to be read and added to."""
    cdef size_t low, high
    if prod(shape(var)) > 0:
        cad_var_bounds(CAD_VAR(var), &low, &high)
        cad_array_prepare(tape, along, low, high)
    return 0


cdef list moving_point(object rule, list numbers, Along tangents, object tag):
    """Values of operands or results, with their tangents; of those of a linear rule None."""
    if rule.is_linear:
        return [None] * len(numbers)
    return [make_dual(cad_plain_value(x), tangents.values_of(x), tag) for x in numbers]


cdef int pull_rule_along(
    CadTape *tape, size_t index, const CadAlong *along, rule
) except -1:
    """Hand on the adjoints of a rule's results, and their tangents."""
    cdef size_t lane
    for lane in range(along.adjoints.count):
        pull_lane(tape, index, along, lane, rule)
    return 0


cdef int pull_lane(
    CadTape *tape, size_t index, const CadAlong *along, size_t lane, rule
) except -1:
    """The tangents of one lane; of adjoints there is one for all lanes."""
    cdef Along tangents = along_lane(tape, along.tangents, lane)
    cdef Along adjoints = along_lane(tape, along.adjoints, lane)
    cdef CadPass put_aside
    cdef list operands, outs
    _, operands, outs = rule_views(tape, index)
    for out in outs:
        prepare_along(tape, along, out)
    cotangents = [cad_var_adjoint(CAD_VAR(out)) for out in outs]
    moved = [adjoints.values_of(out) for out in outs]
    if are_zero(cotangents) and are_zero(moved):
        return 0
    check(cad_tape_leave_pass(tape, &put_aside))
    try:
        with Forward() as tag:
            terms = rule.pull_cotangents(
                moving_point(rule, operands, tangents, tag),
                moving_point(rule, outs, tangents, tag),
                [make_dual(g, t, tag) for g, t in zip(cotangents, moved)],
            )
            pairs = [None if term is None else split_dual(term, tag) for term in terms]
    finally:
        cad_tape_resume_pass(tape, put_aside)
    for operand, pair in zip(operands, pairs):
        if pair is not None:
            prepare_along(tape, along, operand)
            if lane == 0:
                cad_var_seed(CAD_VAR(operand), plain_term(rule, pair[0]))
            adjoints.add(operand, plain_term(rule, pair[1]))
    return 0


cdef int second_rule_hook(CadTape *tape, size_t index, const CadAlong *along) except -1:
    """What C calls."""
    cad_tape_pin(tape)
    try:
        rule = rule_at(tape, index)
        if isinstance(rule, DirectRule):
            if along.adjoints.data == NULL:
                return (<DirectRule>rule).push_here(tape, index, along)
            return (<DirectRule>rule).pull_along(tape, index, along)
        if along.adjoints.data == NULL:
            return push_rule(tape, index, along.tangents, rule)
        return pull_rule_along(tape, index, along, rule)
    finally:
        cad_tape_unpin(tape)
cad_state.second_rule_hook = second_rule_hook


cdef int slopes_hook(CadTape *tape, size_t index, CadSlopes *slopes) except -1:
    """What C calls."""
    return (<DirectRule>rule_at(tape, index)).slopes_here(tape, index, slopes)
cad_state.slopes_hook = slopes_hook


# --- calls ---------------------------------------------------------------------------------------

cdef tuple _quiet_setting():
    """The context variable that np.errstate sets, and what it is where NumPy warns of nothing."""
    outside = copy_context()
    with np.errstate(all="ignore"):
        inside = copy_context()
    (setting,) = [pair for pair in inside.items() if outside.get(pair[0]) is not pair[1]]
    return setting


cdef object _warnings, _none
_warnings, _none = _quiet_setting()


@cython.final
cdef class WarningsOff(Context):
    """NumPy warns of nothing: a context, entered once, in a tenth of the time of np.errstate."""

    def __enter__(self) -> None:
        self.begin(PyContextVar_Set(_warnings, _none))

    cdef int end(self, CadTape *tape, object former) except -1:
        PyContextVar_Reset(_warnings, former)
        return 0


cpdef object tag_of_arguments(tuple args):  #: int | None
    """The highest tag of Duals among arguments; 0 if there are Vars alone, -1 if nothing carries
    a derivative, and None if something in a container does."""
    cdef object highest = -1
    cdef bint duals = False, others = False
    for arg in args:
        if CAD_IS_DUAL(arg):
            others = others or duals and highest != CAD_DUAL(arg).tag
            duals = True
            highest = max(highest, <object>CAD_DUAL(arg).tag)
        elif CAD_IS_VAR(arg):
            others = True
            highest = max(highest, 0)
        elif type(arg) is not float and carries(arg):
            return None
    return highest_tag(list(args)) if duals and others else highest


def plain_arguments(tuple args) -> list[Any]:
    """A list of arguments, with values in place of Vars."""
    return [cad_plain_value(arg) if CAD_IS_VAR(arg) else arg for arg in args]


def active_arguments(tuple args) -> list[int]:
    """Which of some arguments are Vars that carry derivatives."""
    cdef Py_ssize_t k
    return [k for k in range(len(args)) if CAD_IS_VAR(args[k]) and not is_constant(args[k])]


def ruled(x):
    """A number as rules get it: plain floats as NumPy has them, which divide by zero."""
    if type(x) is float:
        return np.float64(x)
    return tuple([ruled(each) for each in x]) if type(x) is tuple else x


def ruled_arguments(list kept, list which, list operands) -> list[Any]:
    """All arguments as rules get them, with operands in some places."""
    cdef Py_ssize_t k
    cdef list args = [ruled(arg) for arg in kept]
    for k in range(len(which)):
        args[which[k]] = ruled(operands[k])
    return args


def taking_part(args: Sequence[Any]) -> tuple[list[int], list[bool]]:
    """Which of some arguments an operation is recorded with, and of each of these whether its
    derivative is cut off: Vars that carry derivatives, and, where guards are noted, whatever a
    replay may find changed."""
    cdef Py_ssize_t k
    cdef bint is_active
    cdef list which = [], passive = []
    for k in range(len(args)):
        is_active = CAD_IS_VAR(args[k]) and not is_constant(args[k])
        if is_active or (cad_state.guarding > 0 and depends(args[k])):
            which.append(k)
            passive.append(not is_active)
    return which, passive


def is_real_array(x) -> bool:
    """Whether something is an array of floats of NumPy's own type, with one axis at least."""
    return is_array_of_floats(x)


cdef inline bint is_array_of_floats(object x):
    return (
        cnp.PyArray_CheckExact(x)
        and cnp.PyArray_TYPE(x) == cnp.NPY_DOUBLE
        and cnp.PyArray_ISNOTSWAPPED(x)
        and cnp.PyArray_NDIM(x) > 0
    )


def is_like(x, other) -> bool:
    """Whether two are arrays of floats of the same shape, or both floats."""
    if type(x) is float:
        return isinstance(other, float)
    return (
        is_array_of_floats(x)
        and cnp.PyArray_CheckExact(other)
        and cnp.PyArray_NDIM(x) == cnp.PyArray_NDIM(other)
        and cnp.PyArray_CompareLists(
            cnp.PyArray_DIMS(x), cnp.PyArray_DIMS(other), cnp.PyArray_NDIM(x)
        )
    )


cdef object result_of_rule(object result):
    """A result as an array of float64 or float32, which it stays."""
    cdef int kind = cnp.NPY_FLOAT32 if cad_is_single(result) else cnp.NPY_DOUBLE
    return cnp.PyArray_FROMANY(result, kind, 0, 0, 0)


def record_rule(rule, list operands, list results):
    """Record results (arrays of float64 or float32) of an operation whose `rule.pull_cotangents` knows its derivatives.

    rule.pull_cotangents(operands, results, cotangents), all lists of numbers or arrays, answers a list with a
    cotangent, or None, for each operand. The operands of the recording are Vars.

    A rule that `runs_again` what it stands for needs the operands where they are: it has two
    methods, pull_again(operands, results, cotangents) for plain cotangents, and
    record_again(operands, results, cotangents, linear) for numbers that can be differentiated
    again; with `linear` what is run counts as constant. Operands and results are Vars.

    A rule that `is_linear` gets None for each operand and result.
    """
    cdef CadTape *tape = cad_current_tape()
    cdef list rules = <list>tape.rules
    if cad_state.guarding > 0 and not hasattr(rule, "compute_results"):
        note_rule(operands, rule_name(rule))
    for operand in operands:
        if CAD_VAR(operand).kind == CAD_STALE:
            cad_raise_stale()
        if CAD_VAR(operand).tape != tape:
            raise RuntimeError("Vars of two threads do not mix: pass cadiff.value(v)")
    results = [result_of_rule(result) for result in results]
    rules[tape.n_rules :] = [(rule, [result.shape for result in results])]
    recorded = cad_record_rule(tape, tape.n_rules, operands, results)
    look_at_rule(tape, rule, operands, results)
    return recorded


class _Cut:
    """Where a number leaves a rule that has taken plain values: how it depends on these is not
    known, and no derivative goes that way.

    The operands are the number, unless it is plain, and those of which values were taken.
    """

    runs_again = is_linear = False
    is_exact = goes_forward = False
    takes_plain = goes_over_lanes = True  # a program hands the number on, and derives nothing

    def __init__(self, name, operands, value, plain):
        self._name = name
        self.plain = plain  # the number, if it is none of the operands
        self.point = operands, [value]
        self.passive = [False] * len(operands)

    def compute_results(self, operands):
        return [operands[0] if self.plain is None else self.plain]

    def call_lanes(self, operands):
        if self.plain is None:
            return [operands[0]]
        return [np.broadcast_to(self.plain, (len(operands[0]), *np.shape(self.plain)))]

    def pull_cotangents(self, operands, outs, cotangents):
        raise taken_error(self._name)

    def push_tangents(self, operands, outs, tangents):
        begin = self.plain is None
        if not are_zero(tangents[begin:]):
            raise taken_error(self._name)
        return [tangents[0] if begin else np.zeros(shape(outs[0]))]


cdef object cut(object atom, str name, list taken):
    if CAD_IS_DUAL(atom):
        primal, tangent = dual_components(atom)
        if isinstance(tangent, tuple):
            tangent = tuple([cut(lane, name, taken) for lane in tangent])
        else:
            tangent = cut(tangent, name, taken)
        return make_dual(cut(primal, name, taken), tangent, CAD_DUAL(atom).tag)
    value = cad_plain_value(atom)
    is_var = CAD_IS_VAR(atom) and not is_constant(atom)
    operands = [atom, *taken] if is_var else taken
    rule = _Cut(name, [cad_plain_value(x) for x in operands], value, None if is_var else value)
    return record_rule(rule, operands, [value])[0]


def as_taken(name: str, list operands, compute: Callable[[], list[Any]],
             bint is_inner=False) -> list[Any]:
    """The numbers that `compute` gives, which runs a user's rule with `operands`: a list, in
    which there may be None. If it takes plain values of numbers with derivatives, a derivative by
    these is refused: it is asked for where a rule is differentiated again, and nowhere else.

    is_inner: what the rules around it are given belongs to them.
    """
    cdef ValuesTaken taken
    carrying = [x for x in operands if CAD_IS_VAR(x) or CAD_IS_DUAL(x)]
    if not carrying:
        return compute()
    first = min([CAD_VAR(x).slot for x in carrying if CAD_IS_VAR(x)], default=0) if is_inner else 0
    with ValuesTaken(name, first) as taken:
        results = compute()
    numbers = [x for x in taken.numbers if CAD_VAR(x).kind != CAD_STALE]
    if not numbers:
        return results
    return [None if x is None else cut(x, name, numbers) for x in results]


def call_linear(operation, kind, how, tuple operands) -> tuple[Any, ...]:
    """The results of a linear map `operation.function(how, *arrays)`, recorded as a rule of a kind
    if an operand takes part. Of Duals `operation.map_duals` makes them."""
    cdef list which, passive, values, kept, results
    tag = tag_of_arguments(operands)
    if tag == -1:
        return operation.function(how, *operands)
    if tag > 0:
        return operation.map_duals(how, operands, tag)
    which, passive = taking_part(operands)
    values = [values_in_place(x) for x in operands]
    outputs = operation.function(how, *values)
    if len(which) == 0:
        return outputs
    results = list(outputs)
    kept = [None if k in which else np.array(values[k]) for k in range(len(values))]
    rule = kind(operation, kept, {"how": how, "shape": values[0].shape}, which, True)
    if cad_state.guarding > 0:
        rule.note_point([values[k] for k in which], results, passive)
    return tuple(record_rule(rule, [operands[k] for k in which], results))


# --- steps ---------------------------------------------------------------------------------------
#
# Steps of programs: operations that are no rows of the table, but rules of Python's.
#
# A rule that can be a step has, beside `pull` and `push` (see record_rule), `call(operands)`, which
# answers the results; `call_lanes(operands)`, if it `goes_over_lanes`, which answers those of many
# points, an axis in front of operands and results; `point`, the operands and results that it was
# recorded with; and `passive`, of each operand whether its derivative is cut. Derivatives of a step
# are found by running its `pull` or `push` once, at that point, and reading what it does into the
# graph: so they have derivatives themselves. Where that is impossible they are steps, too, that have
# none. A sweep over a tape leaves out rules that get nothing but zeros; a program runs them. That
# they are linear makes it the same, unless a partial is not finite. So where a derivative of a step
# is not, a program answers nothing, and f is recorded elsewhere or run eagerly; unless the rule
# `absorbs`, as elementwise ones do: zeros then stay zeros. What graphs are, and programs, is not
# known here.


class ObstacleError(Exception):
    """A derivative cannot be made for a graph; the message says why."""


class PointError(Exception):
    """A derivative cannot be made where the graph was recorded, but perhaps elsewhere."""


class CallError(Exception):
    """A step of a program has raised: its cause."""


class _Step:
    """A call in a graph: a rule, and the values that it was recorded with."""

    def __init__(self, rule, operands, results):
        self.rule = rule
        self.operands = operands
        self.results = results
        self.form = None  # the number of the first one that does the same, once it is known

    @property
    def name(self):
        return rule_name(self.rule)

    def __getstate__(self):
        return {name: x for name, x in self.__dict__.items() if name != "native"}

    def sizes(self):
        return tuple([sum([np.size(x) for x in group]) for group in (self.operands, self.results)])

    def derivative(self, way, lifted, wanted):
        """Cotangents of operands, given those of results ("pull"), or tangents the other way:
        of those, or along those, that are wanted. None stands for zeros."""
        n, m = len(self.operands), len(self.results)
        operands, results, seeds = lifted[:n], lifted[n : n + m], lifted[n + m :]
        if way == "push":
            return self.rule.push_tangents(list(operands), list(results), list(seeds), wanted)
        return self.rule.pull_cotangents(list(operands), list(results), list(seeds), wanted)


class _OpaqueDerivative:
    """A derivative of a step that is computed with plain numbers alone."""

    passive = ()
    is_exact = goes_forward = False
    takes_plain = True

    def __init__(self, step, way, shapes, wanted):
        step.rule.keeps_pulls = True  # for many cotangents
        self.step = step
        self.way = way
        self.shapes = shapes
        self.wanted = wanted
        self._name = f"{'cotangents' if way == 'pull' else 'tangents'} of {rule_name(step.rule)}"

    def compute_results(self, operands):
        seeds = operands[len(self.step.operands) + len(self.step.results) :]
        terms = [None] * len(self.shapes)
        if self.way == "push" or not are_zero(seeds):
            terms = self.step.derivative(self.way, operands, self.wanted)
        return [
            np.zeros(shape) if term is None
            else np.broadcast_to(plain_term(self.step.rule, term), shape)
            for term, shape in zip(terms, self.shapes, strict=True)
        ]


cdef list as_steps(list steps):
    """What `Graph.steps` may be, from a file."""
    for step in steps:
        if not isinstance(step, _Step):
            raise ValueError(f"a step of a recorded function is a {type(step).__name__}")
    return steps


# --- steps are carried out -----------------------------------------------------------------------

cdef object native_of_step(step):
    """What carries a step out in C: None if its rule tells nothing of that."""
    if "native" not in step.__dict__:
        find = getattr(step.rule, "native", None)
        step.native = None if find is None else find(step.operands, step.results)
    return step.native


cdef object operand_of(const double *numbers, like):
    """An operand of a step, in the order of memory of the one that it was recorded with: the last
    bit of results may depend on it."""
    cdef cnp.ndarray array
    if isinstance(like, float):
        return numbers[0]
    array = cnp.PyArray_SimpleNew(cad_ndim(like), cnp.PyArray_DIMS(like), cnp.NPY_DOUBLE)
    memcpy(cnp.PyArray_DATA(array), numbers, cnp.PyArray_NBYTES(array))
    if cnp.PyArray_ISCARRAY_RO(like):
        return array
    result = np.empty_like(like)
    result[...] = array
    return result


cdef Py_ssize_t size_of(x):
    return 1 if isinstance(x, float) else cnp.PyArray_SIZE(x)


cdef bint has_shape_of(cnp.ndarray array, expected):
    cdef int i, ndim = 0 if isinstance(expected, float) else cnp.PyArray_NDIM(expected)
    if cnp.PyArray_NDIM(array) != ndim:
        return False
    for i in range(ndim):
        if cnp.PyArray_DIM(array, i) != cnp.PyArray_DIM(expected, i):
            return False
    return True


cdef int failed(object error) noexcept:
    """Leave an exception set: an error of a rule as the cause of a CallError."""
    if isinstance(error, Exception):
        failure = CallError(str(error))
        failure.__cause__ = error
        error = failure
    cad_restore_exception(error)
    return -1


cdef int carry_out_step(void *owner, uint32_t number, const double *operands,
                        double *results) noexcept with gil:
    """What C calls; the exception is left set."""
    cdef cnp.ndarray array
    try:
        step = (<list>owner)[number]
        arrays = []
        for operand in step.operands:
            arrays.append(operand_of(operands, operand))
            operands += size_of(operand)
        computed = step.rule.compute_results(arrays)
        for result, expected in zip(computed, step.results, strict=True):
            array = cnp.in_order(result, cnp.NPY_DOUBLE)
            if not has_shape_of(array, expected):
                raise ValueError(
                    f"{rule_name(step.rule)} returned an array of the shape {np.shape(result)}, "
                    f"where it had {np.shape(expected)} when it was recorded"
                )
            memcpy(results, cnp.PyArray_DATA(array), cnp.PyArray_NBYTES(array))
            results += cnp.PyArray_SIZE(array)
        return 0
    except BaseException as error:
        return failed(error)


cdef bint goes_over_lanes(step) except -1:
    return getattr(step.rule, "goes_over_lanes", False)


cdef list results_of_lanes(step, list columns):
    """What a step finds for operands with an axis of points in front."""
    if goes_over_lanes(step):
        return step.rule.call_lanes(columns)
    rows = [step.rule.compute_results(list(operands)) for operands in zip(*columns)]
    return [np.stack(each) for each in zip(*rows)]


cdef int carry_out_lanes(void *owner, uint32_t number, size_t lanes, const double *operands,
                         double *results) noexcept with gil:
    """What C calls for many points; the exception is left set."""
    cdef Py_ssize_t size
    cdef cnp.ndarray array
    try:
        step = (<list>owner)[number]
        columns = []
        for operand in step.operands:
            size = np.size(operand)
            array = np.empty((size, lanes))
            memcpy(cnp.PyArray_DATA(array), operands, size * lanes * sizeof(double))
            columns.append(array.T.reshape((lanes, *np.shape(operand))))
            operands += size * <Py_ssize_t>lanes
        computed = results_of_lanes(step, columns)
        for result, expected in zip(computed, step.results, strict=True):
            if np.shape(result) != (lanes, *np.shape(expected)):
                raise ValueError(
                    f"{rule_name(step.rule)} returned an array of the shape {np.shape(result)} for "
                    f"{lanes} points, where it had {np.shape(expected)} when it was recorded"
                )
            size = np.size(expected)
            array = np.ascontiguousarray(result.reshape(lanes, size).T, dtype=np.float64)
            memcpy(results, cnp.PyArray_DATA(array), size * lanes * sizeof(double))
            results += size * <Py_ssize_t>lanes
        return 0
    except BaseException as error:
        return failed(error)
