"""Calls of functions that are recorded: their arguments taken apart, what f gets in their place, and
what f has changed; and which recordings may serve them. Functions whose calls are entries of the
tape take theirs apart here, too.

The key of a call tells it from others: it has the containers of the arguments, the shapes of
arrays, and everything that is no float or array. Calls of one key differ in their inputs alone, a
vector of numbers. This module knows neither recordings nor programs.
"""

from math import prod
from types import FunctionType

import numpy as np

cimport cython
from cpython.float cimport PyFloat_AS_DOUBLE
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from . cimport c_numpy as cnp
from .c_numbers cimport *
from .generated.entries cimport cad_digest
from .atoms cimport shape
from .complexes cimport Complex, is_complex, is_nothing, parts_of
from .entries cimport put_apart
from .signatures cimport SignatureNode, Filling, node_of, Taken
from .tape cimport is_in_order, takes_entries
from .trees cimport Container, key_of, key_of_container, opened, opened_whole, Same
from .watches cimport Watch

from .arguments import structure_of
from .atoms import plain_values
from .recording import assign
from .rules import CallError, is_real_array
from .trees import flattened


@cython.final
cdef class Call:
    """Arguments taken apart: inputs, which are numbers, and the key, which is all else.

    The arguments that `argnums` name come first among the inputs; all numbers in them are inputs,
    integers too. In other arguments floats and arrays of floats are; and of `integers`, the ints
    and arrays of them or of bools, those that are `lifted`, by their places in that list. Numbers
    with derivatives are taken as the floats and arrays that their values are.
    """

    cdef readonly tuple args
    cdef readonly dict kwargs  #: dict[str, Any]
    cdef readonly tuple argnums  #: tuple[int, ...]  # those to differentiate by; none is negative
    # where the numbers of each of these stand among the inputs
    cdef readonly tuple ranges  #: tuple[tuple[int, int], ...]
    cdef readonly tuple form     # what tells it from others but for the values of integers
    cdef readonly object key     # all that does
    cdef readonly Taken taken
    cdef tuple nodes             # of positional arguments, then of those by keyword
    cdef tuple names             # of these
    cdef bint is_described       # whether the nodes belong to a Signature
    cdef list plain              # its inputs as plain values, once they were asked for
    cdef object found_structure
    # gives what f returns by the recording that has served it; or None
    cdef public object replied  #: Callable[[], Any] | None

    def __init__(self, tuple args, kwargs: Mapping[str, Any], tuple argnums,
                 lifted: frozenset[int] = frozenset()):
        cdef Py_ssize_t k, n = len(args)
        self.args = args
        self.kwargs = dict(kwargs) if kwargs else {}
        self.names = tuple(kwargs) if kwargs else ()  # whose order f may see
        self.argnums = argnums
        for k in argnums:
            if k < 0:
                self.argnums = tuple([each + n if each < 0 else each for each in argnums])
                break
        for k in self.argnums:
            if not 0 <= k < n or args[k] is None or self.argnums.count(k) > 1:
                structure_of(args, argnums)  # says what is wrong
        self.take(lifted)

    def lift(self, lifted: frozenset[int]) -> None:
        """Have these of its integers for inputs, and those alone."""
        if lifted != self.taken.lifted:
            self.take(lifted)

    cdef int take(self, object lifted) except -1:
        cdef Taken taken = Taken(lifted)
        try:
            self.take_all(taken)
        except RecursionError:
            cad_raise_nested()
        self.taken = taken
        self.is_described = False
        self.plain = self.found_structure = None
        return 0

    cdef int take_all(self, Taken taken) except -1:
        cdef Py_ssize_t k, begin, n = len(self.args)
        cdef list nodes = [None] * n
        cdef list ranges = [], first = [], others = [], named = []
        cdef SignatureNode node
        for k in self.argnums:
            begin = taken.numbers
            nodes[k] = node = node_of(self.args[k], True, taken)
            first.append(node.form)
            ranges.append((begin, taken.numbers))
        if taken.is_refused:
            structure_of(self.args, self.argnums)  # says what is wrong
        for k in range(n):
            if nodes[k] is None:
                nodes[k] = node = node_of(self.args[k], False, taken)
                others.append(node.form)
        for name in self.names:
            node = node_of(self.kwargs[name], False, taken)
            nodes.append(node)
            named.append((name, node.form))
        self.nodes = tuple(nodes)
        self.ranges = tuple(ranges)
        self.form = (n, self.argnums, tuple(first), tuple(others), tuple(named))
        self.key = self.form
        if taken.integers:
            self.key = (*self.form, *[
                None if k in taken.lifted else
                (item.strides, item.tobytes()) if cnp.PyArray_Check(item) else item
                for k, item in enumerate(taken.integers)
            ])
        return 0

    cdef tuple nodes_of_its_own(self):
        """The nodes of its arguments, for a Signature that changes them."""
        if self.is_described:
            self.take(self.taken.lifted)
        self.is_described = True
        return self.nodes

    # --- what it is made of

    @property
    def single_ints(self) -> frozenset[int]:
        """Those of `integers` that are no arrays."""
        return frozenset([
            k for k, item in enumerate(self.taken.integers) if not cnp.PyArray_Check(item)
        ])

    @property
    def marks(self) -> list[Any]:
        """Keys of the objects among the statics, which may stand for others later on."""
        return [
            Same(item) for item in self.taken.statics
            if not issubclass(type(item), (FunctionType, type))
        ]

    @property
    def atoms(self) -> list[Any]:
        """The inputs as given, with the items of sequences one by one."""
        cdef list atoms = []
        for item in self.taken.inputs:
            if type(item) is float or CAD_IS_VAR(item) or CAD_IS_DUAL(item) or (
                cnp.PyArray_Check(item)
            ):
                atoms.append(item)
            else:
                atoms.extend(item)
        return atoms

    @property
    def inputs(self) -> list[Any]:
        """Floats, sequences of them and arrays, in the order of the vector."""
        if self.plain is None:
            self.plain = [
                item if type(item) is float else plain_values(item) for item in self.taken.inputs
            ]
        return self.plain

    def vector(self) -> NDArray[np.float64]:
        """All inputs in a row, a fresh array of float64."""
        cdef cnp.ndarray array, vector = cnp.new_doubles(self.taken.numbers)
        cdef double *place = cnp.doubles(vector)
        for item in self.inputs:
            if type(item) is float:
                place[0] = PyFloat_AS_DOUBLE(item)
                place += 1
            elif isinstance(item, (np.ndarray, np.float32)):
                array = cnp.cast_in_order(item, cnp.NPY_DOUBLE)
                memcpy(place, cnp.PyArray_DATA(array), cnp.PyArray_NBYTES(array))
                place += cnp.PyArray_SIZE(array)
            else:
                for number in opened(item)[1]:
                    place[0] = number
                    place += 1
        return vector

    @property
    def n_variables(self) -> int:
        """How many numbers there are to differentiate by."""
        return self.ranges[len(self.ranges) - 1][1] if self.ranges else 0

    @property
    def is_one_vector(self) -> bool:
        """Whether it has one argument, a float64 vector, and is by that."""
        return (
            self.argnums == (0,)
            and len(self.args) == 1
            and not self.kwargs
            and cnp.PyArray_Check(self.args[0])
            and self.args[0].ndim == 1
            and self.args[0].dtype == np.float64
        )

    @property
    def structure(self) -> Structure:
        """The structure of the arguments to differentiate by."""
        if self.found_structure is None:
            self.found_structure = structure_of(self.args, self.argnums)
        return self.found_structure

    # --- what f has done to it

    def changes_in(self, recording: Recording) -> list[tuple[NDArray[Any], NDArray[Any]]] | None:
        """What f has assigned to its arguments, as pairs of an array and its new values.

        None if f has to run on them: they share memory, or were not lifted as they are, such as
        complex ones, of which f has parts.
        """
        changes = recording.changes(self.inputs)
        if not changes:
            return changes
        own, _ = flattened((self.args, *self.kwargs.values()))
        for array, _ in changes:
            if not any([array is item for item in own]):
                return None
        return changes

    def assign(self, changes: Sequence[tuple[NDArray[Any], NDArray[Any]]],
               bint of_derivative) -> None:
        """Have changes in its arrays. Of a derivative: in none that it is by, of which f has a
        copy."""
        copied, _ = flattened([self.args[k] for k in self.argnums if of_derivative])
        assign([one for one in changes if not any([one[0] is item for item in copied])])


@cython.final
cdef class StandIns(Filling):
    """What f gets in the place of the arguments of a call: other numbers, or numbers of a tape, for
    its inputs.

    stand_in(integer, number) is what f gets for an integer that is an input. If it `lends`, f gets
    copies of arrays that are no inputs, which it may change.
    """

    cdef Call call
    cdef object inputs, others  # iterators over what f gets in their places
    cdef object stand_in
    cdef bint lends
    cdef list lent      # pairs of an array of the call's and the copy that f has
    cdef list sets      # pairs of a set of the call's and what is in it, in order
    cdef dict memories  # of what stands for integers, by their places

    def __init__(self, Call call, inputs: Iterable[Any], stand_in: Callable[[Any, Any], Any],
                 bint lends=False):
        self.call = call
        self.inputs = iter(inputs)
        self.others = iter(call.taken.others)
        self.stand_in = stand_in
        self.lends = lends
        self.lent, self.sets, self.memories = [], [], {}

    def arguments(self) -> tuple[list[Any], dict[str, Any]]:
        """Positional arguments, and those by keyword. They are made once."""
        cdef Call call = self.call
        cdef Py_ssize_t n = len(call.args)
        cdef list made = [None] * n
        cdef dict named = {}
        for k in (*call.argnums, *[k for k in range(n) if k not in call.argnums]):
            made[k] = (<SignatureNode>call.nodes[k]).filled(self)
        for k, name in enumerate(call.names):
            named[name] = (<SignatureNode>call.nodes[n + k]).filled(self)
        self.inputs = None  # Vars that are alive when the tape is rewound have to be found
        return made, named

    cdef object next_input(self):
        return next(self.inputs)

    cdef object next_container(self):
        return next(self.others)

    cdef object next_other(self):
        leaf = next(self.others)
        if not self.lends:
            return leaf
        if type(leaf) is set:
            self.sets.append((leaf, tuple(leaf)))
        if cnp.PyArray_CheckExact(leaf) and cnp.PyArray_TYPE(leaf) != cnp.NPY_OBJECT:
            return self.lend(leaf)
        return leaf

    cdef object next_integer(self, Py_ssize_t k):
        plain = self.call.taken.integers[k]
        if cnp.PyArray_Check(plain):
            plain = self.lend(plain)
        made = self.stand_in(plain, next(self.inputs))
        self.memories[k] = made.memory
        return made

    cdef object lend(self, object array):
        copy = array.copy("K")  # f may ask how it stands in memory, too
        copy.flags.writeable = array.flags.writeable
        self.lent.append((array, copy))
        return copy

    @property
    def changes(self) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        """What f has assigned to arrays that are no inputs, and to those of integers."""
        return [(array, copy) for array, copy in self.lent if key_of(array) != key_of(copy)]

    @property
    def integers_read(self) -> frozenset[int]:
        """The integers, by their places, that are inputs and whose values f has read."""
        return frozenset([k for k, memory in self.memories.items() if memory.was_read])

    def put_back_sets(self) -> bool:
        """Have in sets among the arguments what was there; whether f has changed any.

        Not by copies, which may have another order.
        """
        changed = [(given, items) for given, items in self.sets if tuple(given) != items]
        for given, items in changed:
            given.clear()
            given.update(items)
        return len(changed) > 0


# --- what may come first --------------------------------------------------------------------------


cdef bint are_floats(object item) except -1:
    """Whether all numbers in it are told at once to be floats, or to carry derivatives."""
    kind = type(item)
    if kind is list or kind is tuple:
        return cad_row_of(item) != CAD_NO_ROW
    if cnp.PyArray_CheckExact(item):
        return cnp.PyTypeNum_ISFLOAT(cnp.PyArray_TYPE(item))
    return kind is float or CAD_IS_VAR(item) or CAD_IS_DUAL(item)


cdef tuple FIRST = (0,)


def first_argument(tuple args) -> tuple[int, ...]:
    """The first argument, if it can be differentiated by: as for gradients."""
    if len(args) == 0:
        return ()
    if are_floats(args[0]):  # as they mostly are
        return FIRST
    if issubclass(type(args[0]), (int, np.integer)) and not isinstance(args[0], bool):
        return ()
    try:
        structure_of(args, FIRST)
    except TypeError:
        return ()
    return FIRST


def ways_to_take(tuple args) -> tuple[tuple[int, ...], ...]:
    """What may come first among the inputs of a plain call, the more likely way first.

    Nothing is differentiated there: integers in the first argument are integers, as in any other,
    unless f cannot do with them, tables are tables, and dataclasses have all their attributes.
    """
    cdef Taken taken
    if len(args) > 0 and are_floats(args[0]):
        return (FIRST,)
    if not first_argument(args):
        return ((),)
    taken = Taken()
    node_of(args[0], False, taken)
    if taken.has_tables or taken.has_attributes:
        return ((),)
    return ((), FIRST) if taken.integers else (FIRST,)


cpdef object form_of(item, list leaves):
    """What tells arguments from others but for the values of leaves: containers, types, shapes,
    dtypes. It is hashable; the leaves are added to `leaves`, in order."""
    cdef Container container
    opened_item = None if cnp.PyArray_Check(item) else opened_whole(item)
    if opened_item is None:
        leaves.append(item)
        if cnp.PyArray_Check(item) or CAD_IS_VAR(item) or CAD_IS_DUAL(item):
            return type(item), item.dtype, item.shape
        return type(item), shape(item)
    container, parts = opened_item
    cad_enter_container()
    try:
        return (
            key_of_container(container, [], None),
            tuple([form_of(part, leaves) for part in <tuple>parts]),
        )
    finally:
        cad_leave_container()


# --- what was there before f ran ------------------------------------------------------------------


@cython.final
cdef class Contents:
    """What is in containers among some arguments, and how they are made."""

    cdef list held, leaves
    cdef object key

    def __init__(self, args: Sequence[Any], kwargs: Mapping[str, Any]):
        self.held = [x for x in (*args, *kwargs.values()) if opened(x) is not None]
        self.leaves, tree = flattened(self.held)
        self.key = key_of(tree)

    @property
    def are_changed(self) -> bool:
        """Whether other objects are in them now."""
        leaves, tree = flattened(self.held)
        if len(leaves) != len(self.leaves):
            return True
        for now, former in zip(leaves, self.leaves):
            if now is not former:
                return True
        return key_of(tree) != self.key


@cython.final
cdef class ArgumentSnapshot:
    """Arguments of f, and what else it reads, as they were before it ran."""

    cdef list arrays
    cdef Contents contents
    cdef Watch watch
    cdef object read

    def __init__(self, args: Sequence[Any], kwargs: Mapping[str, Any], Watch watch):
        leaves, _ = flattened((args, kwargs))
        self.arrays = [
            (x, x.copy()) for x in leaves
            if cnp.PyArray_Check(x) and cnp.PyArray_ISWRITEABLE(x) and not x.dtype.hasobject
        ]
        self.contents = Contents(args, kwargs)
        self.watch = watch
        self.read = watch.saved()

    @property
    def are_arguments_changed(self) -> bool:
        """Whether f has changed its arguments, as where it knows them by other names."""
        for array, copy in self.arrays:
            if key_of(np.asarray(array)) != key_of(np.asarray(copy)):
                return True
        return self.contents.are_changed

    def restore(self) -> bool:
        """Put back what was there; answers whether all that f reads is as it was."""
        assign(self.arrays)
        return self.watch.restore(self.read)


# --- which recordings may serve a call -----------------------------------------------------------

@cython.final
cdef class Missed:
    """A call in which f has another outcome of a guard than in a recording with these outcomes."""

    cdef readonly bytes outcomes
    cdef readonly long guard      # at which; -1: it is not known
    cdef readonly double outcome  # that the call has there

    def __init__(self, bytes outcomes, long guard, double outcome):
        self.outcomes = outcomes
        self.guard = guard
        self.outcome = outcome

    def allows(self, bytes outcomes) -> bool:
        """Whether a recording that has its own outcomes may serve the call.

        Until that guard f did the same in both, and in the call.
        """
        return meets(outcomes, self.outcomes, self.guard, self.outcome)


cdef enum:
    PATIENCE = 8  # calls at the same inputs, after which no others are waited for


@cython.final
cdef class Trust:
    """Where a recording may serve: at the inputs at which f gave the same as it.

    That is everywhere, once f has done so at others than those of the recording, too, or if none
    come: whoever calls at the same inputs again and again is not to pay for that.
    """

    cdef readonly bint is_full
    # the types of arguments for which f has done so
    cdef readonly set kinds  #: set[tuple[type, ...]]
    cdef public bint knows_nan  # or inf: NumPy's maximum of nan goes by no comparison
    cdef bint is_begun
    cdef int n_same       # calls at the inputs of the recording
    cdef uint64_t digest  # of these

    def __cinit__(self):
        self.kinds = set()

    cdef bint allows(self, const double *inputs, Py_ssize_t n) noexcept:
        if self.is_full:
            return True
        if not self.is_begun or self.digest != cad_digest(inputs, n * sizeof(double)):
            return False
        self.n_same += 1
        self.is_full = self.n_same == PATIENCE
        return True

    def covers(self, cnp.ndarray inputs) -> bool:
        """Whether it may serve at inputs."""
        return self.allows(cnp.doubles(inputs), cnp.PyArray_SIZE(inputs))

    def note(self, cnp.ndarray inputs) -> None:
        """Note that f gave the same there."""
        cdef uint64_t digest = cad_digest(cnp.PyArray_DATA(inputs), cnp.PyArray_NBYTES(inputs))
        self.is_full = self.is_full or (self.is_begun and digest != self.digest)
        self.digest = digest
        self.is_begun = True


cdef enum:
    N_PASSED = 13  # calls between those that are looked at, which are not


@cython.final
cdef class Backoff:
    """Which calls run f at once.

    To find out that no recording serves a call may take longer than f. Where that was in vain for
    some calls, most further ones are passed by, until one is served again.
    """

    def __init__(self):
        self.may_pass = True

    def passes(self) -> bool:
        """Whether a call is passed by."""
        if self.n_to_pass == 0:
            return False
        self.n_to_pass -= 1
        return True

    def note_in_vain(self) -> None:
        """Note a call that no recording serves."""
        self.n_missed += 1
        self.n_in_vain += 1
        if self.may_pass and self.n_in_vain >= MOST_IN_VAIN + N_LOOKS:
            self.n_in_vain = MOST_IN_VAIN
            self.n_to_pass = N_PASSED

    @property
    def is_in_vain(self) -> bool:
        """Whether the last calls that were looked at were so in vain."""
        return self.n_in_vain >= MOST_IN_VAIN

    def note_served(self) -> None:
        """Note a call that a recording has served, but no fast path."""
        self.n_missed = self.n_to_pass = 0
        self.n_in_vain -= self.n_in_vain > 0

    def open(self) -> None:
        """Begin anew."""
        self.n_missed = self.n_to_pass = self.n_in_vain = 0


# --- functions as entries ------------------------------------------------------------------------

cdef enum:
    MOST_FORMS = 128    # of calls of one function
    MOST_NUMBERS = 4096 # of one call: more pay by themselves
    MOST_BYTES = 4096   # of an option that is an array
    MOST_DEPTH = 8      # of lists in lists
    MOST_FAILURES = 8   # of forms, until a function is known to have no programs


cdef int first_calls = 8  # of a form, which run the function


def enter_after(int calls) -> int:
    """Have programs made when a form is met for so many times, and none made or used if that is 0;
    answers how many it took."""
    global first_calls
    before, first_calls = first_calls, calls
    return before


@cython.final
cdef class Form:
    """Calls with arguments of the same shapes, and the same others."""

    cdef int n_calls, n_missed
    cdef object program  # a TapeProgram
    cdef object restored


cdef bint note_form(arg, list form, list atoms, int depth=0) except -1:
    """Note what an argument is: a number, an option, or a list of such. Whether it is one of these."""
    kind = type(arg)
    if CAD_IS_VAR(arg) or CAD_IS_FLOAT(arg) or is_real_array(arg):
        return note_number(arg, form, atoms)
    if kind is list or kind is tuple:
        form.append((None, kind, len(arg)))
        if depth == MOST_DEPTH:
            return False
        for item in arg:
            if not note_form(item, form, atoms, depth + 1):
                return False
        return True
    if arg is None or kind is int or kind is bool or kind is str:
        form.append((kind, arg))
        return True
    if is_complex(arg):
        form.append(Complex)
        re, im = parts_of(arg)
        return note_part(re, form, atoms) and note_part(im, form, atoms)
    if cnp.PyArray_Check(arg):
        form.append((arg.dtype.str, arg.shape, arg.tobytes() if arg.nbytes <= MOST_BYTES else None))
        return arg.nbytes <= MOST_BYTES and arg.dtype.kind in "biu"
    form.append((kind, arg))
    return isinstance(arg, (np.integer, np.bool_))


cdef bint note_part(part, list form, list atoms) except -1:
    """Note a part of a complex number; what is nothing with its sign."""
    if is_nothing(part):
        form.append((None, str(part)))
        return True
    return note_number(part, form, atoms)


cdef bint note_number(arg, list form, list atoms) except -1:
    """Note a real number. One with derivatives that is passed twice is one operand, whose cotangents
    are added in their order."""
    if CAD_IS_VAR(arg):
        for k, atom in enumerate(atoms):
            if atom is arg:
                form.append(k)
                return True
    lengths = shape(arg)
    if 0 in lengths or cad_is_single(arg):  # programs compute in doubles
        return False
    atoms.append(arg)
    form.append(lengths)
    if not is_in_order(arg):
        form.append(None)
    return True


@cython.final
cdef class Entered:
    """A function whose calls are entries of the tape: what it records is made a program once.

    record_call(args, names) records a call, and answers (program, restored); None if that cannot be, False
    if it can be for no call. `restored` makes of the outputs what the function returns; None: that
    is the one output. Where no program serves, the function is to run.
    """

    cdef object record_call
    cdef dict forms
    cdef int n_failures  # -1: programs have been made

    def __init__(self, record_call: Callable[[tuple[Any, ...], tuple[str, ...]], Any]):
        self.record_call = record_call
        self.forms = {}

    cdef tuple form_of(self, tuple args, tuple names, list atoms):
        """What tells a call from others; None if there may be no program of it. `atoms` gets the
        numbers among the arguments."""
        cdef Py_ssize_t size = 0
        cdef list form = [names]
        for arg in args:
            if not note_form(arg, form, atoms):
                return None
        for atom in atoms:
            size += prod(shape(atom))
        return None if size > MOST_NUMBERS else tuple(form)

    cdef int forget(self) except -1:
        """Forget forms that have no program, or all where most have one."""
        cdef dict kept = {}
        for key, form in self.forms.items():
            if (<Form>form).program is not None:
                kept[key] = form
        self.forms = kept if 2 * len(kept) < MOST_FORMS else {}
        return 0

    def __call__(self, tuple args, tuple names):
        """What the function returns; NotImplemented if it is to run. The last arguments have
        names."""
        cdef Form form
        cdef list atoms = []
        if cad_state.guarding > 0 or first_calls == 0 or self.n_failures >= MOST_FAILURES:
            return NotImplemented
        if not takes_entries():
            return NotImplemented
        key = self.form_of(args, names, atoms)
        if key is None:
            return NotImplemented
        form = self.forms.get(key)
        if form is None:
            if len(self.forms) >= MOST_FORMS:
                self.forget()
            form = self.forms[key] = Form.__new__(Form)
        form.n_calls += 1
        if form.program is None:
            if form.n_calls != first_calls:
                return NotImplemented
            made = self.record_call(args, names)
            if made is None or made is False:
                if self.n_failures >= 0:
                    self.n_failures += 1 if made is None else MOST_FAILURES
                return NotImplemented
            self.n_failures = -1
            form.program, form.restored = made
        try:
            found = put_apart(form.program, atoms)
        except CallError:  # what it is will be seen when the function runs
            found = None
        if found is NotImplemented:
            return NotImplemented
        if type(found) is list:
            if form.restored is not None:
                return form.restored(found)
            return np.float64(found[0]) if type(found[0]) is float else found[0]
        form.n_missed += 1
        if 2 * form.n_missed > form.n_calls:
            form.program = None
        return NotImplemented
