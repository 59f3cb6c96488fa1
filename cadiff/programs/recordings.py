"""Calls of a function that is compiled, and what was recorded of them.

A call is told from others by its key: the containers of its arguments, the shapes of arrays, and
everything that is no float or array. What has the same key differs in its inputs alone, a vector
of numbers.
"""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..binding import (
    OUTER,
    Code,
    Container,
    Dual,
    Graph,
    Guarded,
    MatrixPlan,
    ObstacleError,
    Pattern,
    PointError,
    Recording,
    Replay,
    Structure,
    TapeProgram,
    Tree,
    Var,
    Watch,
)
from ..operations.guards import NoDerivativeError
from ..operations.making import are_kept, made
from ..operations.replayed import Replayed
from ..operations.scalars import stand_in
from ..transforms._base import Function, is_int
from ..transforms._generators import Generators
from ..transforms._outputs import as_result, places
from .counters import counter_of
from .effects import Before, Changes, Contents, are_changed
from .observations import AGAIN, DRAWS, Observation
from .returned import Returned
from .settling import settled
from .walks import AsGiven, UnwatchableError, is_table, watch_call

CHANGED = AsGiven(
    "it changes a list, a dict or another container among its arguments in place: return what "
    "that becomes"
)
WRITES = AsGiven(
    "it assigns to an array among its arguments, which f itself has to do in each call: assign to "
    "a copy, x = x.copy(), or write x = x + y for x += y"
)
KEPT = (
    "it keeps what cadiff.value(v) gives, or something made of it: a replay would not keep what "
    "it computes anew, so return it"
)

NOT_ENTERED: Any = object()  # a function is no entry, and has to be run

FloatArray = NDArray[np.float64]
Range = tuple[int, int]

__all__ = [
    "AGAIN",
    "CHANGED",
    "NOT_ENTERED",
    "OUTER",
    "Call",
    "FloatArray",
    "KnownCall",
    "MissedError",
    "Recorded",
    "carries_derivatives",
    "first_argument",
    "is_differentiable",
    "is_portable",
    "leaves_of",
    "met",
    "record",
    "run",
    "ways_to_take",
]


class MissedError(Exception):
    """A replay met another outcome than was recorded: at which guard (-1: unknown), and which."""

    def __init__(self, guard: int, outcome: float = 0.0) -> None:
        super().__init__(guard, outcome)
        self.guard = guard
        self.outcome = outcome


def met(found: Any) -> FloatArray:
    """The results of a run; an exception if a guard does not hold."""
    if isinstance(found, tuple):
        raise MissedError(*found)
    results: FloatArray = found
    return results


def carries_derivatives(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether a number with a derivative is among the arguments."""
    return binding.carries(args) or (len(kwargs) > 0 and binding.carries(kwargs))


class Call:
    """Arguments taken apart: inputs, which are numbers, and the key, which is all else.

    The arguments that `argnums` name come first among the inputs; all numbers in them are inputs,
    integers too. In other arguments floats and arrays of floats are. Numbers with derivatives are
    taken as the floats and arrays that their values are.
    """

    def __init__(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], argnums: tuple[int, ...]
    ) -> None:
        self.args = args
        self.kwargs = kwargs
        self.argnums = tuple(k + len(args) if k < 0 else k for k in argnums)
        self.lifted: frozenset[int] = frozenset()  # of `integers`: those that are inputs
        self.ran: tuple[Any, ...] = ()  # (what f returned,), where its recording was of no use
        self.changes: Changes | None = []  # of arguments, by f then
        self.changed_watch: Watch | None = None  # of what f has changed when it was recorded
        # The recording then, which serves for this call alone, and what was `lifted` for it.
        self.once: tuple[Recorded, frozenset[int]] | None = None
        if any(not 0 <= k < len(args) for k in self.argnums):
            binding.structure_of(args, argnums)  # says what is wrong
        self._take_all()

    # --- taking apart

    def lift(self, which: frozenset[int]) -> None:
        """Have these of its arrays of integers for inputs, and those alone."""
        if which != self.lifted:
            self.lifted = which
            self._take_all()

    def _take_all(self) -> None:
        args, kwargs = self.args, self.kwargs
        self.statics: list[Any] = []  # what the key does not tell all of
        self.integers: list[Any] = []  # ints and arrays of them that are not differentiated by
        self.atoms: list[Any] = []  # the inputs as given, with the items of sequences one by one
        self._inputs: list[Any] = []
        self._sizes: list[int] = []
        self._taken: list[tuple[int | str, Tree, list[Any]]] = []
        bounds = [0]
        signatures = []
        for k in self.argnums:
            signatures.append(self._take(k, args[k], True))
            bounds.append(sum(self._sizes))
        self.ranges = tuple(pairwise(bounds))
        others = [self._take(k, x, False) for k, x in enumerate(args) if k not in self.argnums]
        named = [(name, self._take(name, kwargs[name], False)) for name in sorted(kwargs)]
        self.form = (len(args), self.argnums, tuple(signatures), tuple(others), tuple(named))
        constants = [
            None if k in self.lifted else x.tobytes() if isinstance(x, np.ndarray) else x
            for k, x in enumerate(self.integers)
        ]
        self.key = (*self.form, *constants)

    def _take(self, place: int | str, item: Any, differentiable: bool) -> Any:
        """The signature of an argument, which is hashable; its numbers become inputs."""
        if differentiable and item is None:
            binding.structure_of(self.args, self.argnums)  # says what is wrong
        leaves, tree = binding.flattened(item, _is_row, not differentiable, pairs=True)
        leaves = [*map(_unmasked, leaves)]
        kept: list[Any] = []
        signatures: list[Any] = []
        for leaf in leaves:
            if not differentiable and _are_integers(leaf):
                kept.append(self._take_integers(leaf))
                is_array = isinstance(leaf, np.ndarray)
                signatures.append(
                    (np.ndarray, leaf.dtype.str, leaf.shape) if is_array else (type(leaf), None)
                )
                continue
            signature = self._take_leaf(leaf, differentiable)
            if signature is None:
                signature = (None, binding.key_of(leaf, self.statics))
                kept.append(leaf)
            else:
                kept.append(_INPUT)
            signatures.append(signature)
        self._taken.append((place, tree, kept))
        return binding.key_of(tree, self.statics), tuple(signatures)

    def _take_integers(self, item: Any) -> Any:
        """What stands for an int, or an array of such, whose values are the end of the key."""
        self.integers.append(item)
        number = len(self.integers) - 1
        if number not in self.lifted:
            return item
        if isinstance(item, np.ndarray):
            self._note(item.astype(np.float64), item.size, None)
        else:
            self._note(float(item), 1, None)
        return _Lifted(number)

    def _take_leaf(self, item: Any, differentiable: bool) -> Any:
        """The signature of an input; None if it is no number to compute with."""
        if isinstance(item, (float, np.floating)):
            return self._note(float(item), 1, float)
        if isinstance(item, np.ndarray) and (differentiable or item.dtype.kind == "f"):
            return self._take_array(item, differentiable)
        if isinstance(item, (Var, Dual)):
            shape = binding.shape(item)
            return self._note(item, prod(shape), shape if shape else float)
        if isinstance(item, (list, tuple)):
            if type(item) not in (list, tuple):  # f may call its methods
                self.statics.append(type(item))
            return self._note(item, len(item), (type(item), len(item)))
        if differentiable:
            if not is_int(item):
                binding.structure_of(self.args, self.argnums)  # says what is wrong
                return self._take_array(binding.take_apart((item,), (0,))[0][0], True)  # a table
            return self._note(float(item), 1, float)
        return None

    def _take_array(self, array: NDArray[Any], differentiable: bool) -> Any:
        if array.dtype.kind not in "iuf" or type(array) is not np.ndarray:
            # Arrays of objects that are numbers; others are refused.
            if differentiable:
                binding.structure_of(self.args, self.argnums)
            atoms, _ = binding.take_apart((array,), (0,))
            if isinstance(atoms[0], (Var, Dual)):
                return self._note(atoms[0], array.size, array.shape)
            array = atoms[0] if isinstance(atoms[0], np.ndarray) else np.array(atoms[0])
        return self._note(array, array.size, array.shape)

    def _note(self, item: Any, size: int, signature: Any) -> Any:
        if isinstance(item, (list, tuple)):
            self.atoms.extend(item)
        else:
            self.atoms.append(item)
        self._inputs.append(binding.plain_values(item))
        self._sizes.append(size)
        return signature

    # --- what it is made of

    def vector(self) -> FloatArray:
        """All inputs in a row, float64."""
        if len(self._inputs) == 1 and isinstance(self._inputs[0], np.ndarray):
            return np.array(self._inputs[0], dtype=np.float64, order="C").reshape(-1)
        if {float}.issuperset(map(type, self._inputs)):
            return np.array(self._inputs, dtype=np.float64)
        vector = np.empty(sum(self._sizes))
        at = 0
        for item, size in zip(self._inputs, self._sizes, strict=True):
            if isinstance(item, (list, tuple)):  # which NumPy would ask for more than its items
                item = [*item]
            vector[at : at + size] = item.reshape(-1) if isinstance(item, np.ndarray) else item
            at += size
        return vector

    @property
    def inputs(self) -> list[Any]:
        """Floats, sequences of them and arrays, in the order of the vector."""
        return self._inputs

    def changes_in(self, recording: Recording) -> Changes | None:
        """What f has assigned to its arguments.

        None if f has to run on them: they share memory, or were not lifted as they are, such as
        complex ones, of which f has parts.
        """
        changes = recording.changes(self.inputs)
        own, _ = binding.flattened((self.args, *self.kwargs.values()) if changes else ())
        are_own = all(any(array is item for item in own) for array, _ in changes or ())
        return changes if are_own else None

    def change_arguments(self, of_derivative: bool = False) -> None:
        """Assign to arguments what f did when it was recorded.

        Of a derivative: but to none that it is by, of which f has a copy.
        """
        copied, _ = binding.flattened([self.args[k] for k in self.argnums if of_derivative])
        changes, self.changes = self.changes or [], []
        binding.assign(one for one in changes if not any(one[0] is item for item in copied))

    @property
    def n_variables(self) -> int:
        """How many numbers there are to differentiate by."""
        return self.ranges[-1][1] if self.ranges else 0

    @property
    def is_one_vector(self) -> bool:
        """Whether it has one argument, a float64 vector, and is by that."""
        return (
            self.argnums == (0,)
            and len(self.args) == 1
            and not self.kwargs
            and isinstance(self.args[0], np.ndarray)
            and self.args[0].ndim == 1
            and self.args[0].dtype == np.float64
        )

    @property
    def structure(self) -> Structure:
        """The structure of the arguments to differentiate by."""
        return binding.structure_of(self.args, self.argnums)

    def with_inputs(
        self, lifted: Sequence[Any], lends: bool = False
    ) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of the call with other numbers in place of its inputs.

        If it `lends` them, f gets copies of arrays that are no inputs, which it may change.
        """
        numbers = iter(lifted)
        self._memories: dict[int, Any] = {}  # of what stands for lifted integers
        self._lent: list[tuple[NDArray[Any], NDArray[Any]]] = []
        self._sets: list[tuple[set[Any], tuple[Any, ...]]] = []
        args: dict[Any, Any] = {}
        for place, tree, kept in self._taken:
            args[place] = tree.fill([self._filled(x, numbers, lends) for x in kept])
        return [args.pop(k) for k in range(len(self.args))], args

    def _filled(self, leaf: Any, numbers: Iterator[Any], lends: bool) -> Any:
        if leaf is _INPUT:
            return next(numbers)
        if isinstance(leaf, _Lifted):
            plain = self.integers[leaf.number]
            if isinstance(plain, np.ndarray):
                self._lent.append((plain, plain.copy()))
                plain = self._lent[-1][1]
            made = stand_in(plain, next(numbers))
            self._memories[leaf.number] = made.memory
            return made
        if lends and type(leaf) is np.ndarray and not leaf.dtype.hasobject:
            self._lent.append((leaf, leaf.copy()))
            return self._lent[-1][1]
        if lends and type(leaf) is set:
            self._sets.append((leaf, tuple(leaf)))
        return leaf

    @property
    def changed_integers(self) -> Changes:
        """What f has assigned to arrays of integers or bools when it was recorded."""
        return [pair for pair in self._lent if are_changed([pair])]

    def put_back_sets(self) -> bool:
        """Have in sets among the arguments what was there; whether f has changed any.

        Not by copies, which may have another order.
        """
        changed = [pair for pair in self._sets if tuple(pair[0]) != pair[1]]
        for given, items in changed:
            given.clear()
            given.update(items)
        return len(changed) > 0

    @property
    def single_ints(self) -> frozenset[int]:
        """Those of `integers` that are no arrays."""
        return frozenset(
            k for k, item in enumerate(self.integers) if not isinstance(item, np.ndarray)
        )

    @property
    def read(self) -> frozenset[int]:
        """Those of the lifted integers whose values f has read when it was recorded."""
        return frozenset(k for k, memory in self._memories.items() if memory.was_read)


class KnownCall(Call):
    """A call of which key and atoms are known: the rest is found when it is asked for."""

    def __init__(self, args: tuple[Any, ...], key: Any, atoms: list[Any]) -> None:
        self._given = args
        self.key = key
        self.atoms = atoms
        self.lifted = frozenset()

    def __getattr__(self, name: str) -> Any:
        if "args" in self.__dict__:
            raise AttributeError(name)
        super().__init__(self._given, {}, ways_to_take(self._given)[0])
        return getattr(self, name)


_INPUT: Any = object()  # the place of one


class _Lifted(NamedTuple):
    """The place of an int, or of an array of such, that is an input."""

    number: int


def _unmasked(item: Any) -> Any:
    if isinstance(item, Replayed):
        return item.number if item.is_float else item.read_values
    return item


def _is_row(container: Container, parts: tuple[Any, ...]) -> bool:
    """Whether a container is a list of numbers, which is one input."""
    kinds = set(map(type, parts))
    if not container.is_sequence or container.beside or not kinds <= {float, Var, Dual}:
        return False
    return len(kinds) > 0 and (kinds == {float} or all(binding.ndim(x) == 0 for x in parts))


def _are_integers(item: Any) -> bool:
    """Whether it may be an index, or choose: an int, or an array of ints or bools."""
    if type(item) is np.ndarray:
        return item.dtype.kind in "biu" and item.size > 0
    return type(item) in binding.INTEGERS


def is_portable(thing: Any) -> bool:
    """Whether something can be pickled."""
    try:
        pickle.dumps(thing)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


class Recorded:
    """What f did in one call, as a graph: for all calls of the same key that choose alike."""

    def __init__(
        self,
        graph: Graph,
        output: Returned,
        ranges: tuple[Range, ...],
        shapes: Sequence[tuple[int, ...]],
        replays: Sequence[Replay] = (),
        watch: Watch | None = None,
        returns_views: bool = False,
    ) -> None:
        self.watch = watch  # what f has read beside its arguments
        # whether f can be an entry of a tape, where what it returns may be shared
        self._may_enter = not (returns_views or graph.steps or output.has_whole_numbers)
        self._shapes = list(shapes)  # of the atoms of the inputs
        self._tape_program: TapeProgram | None = None
        self.graph = graph
        self.outcomes = graph.outcomes  # of the guards of f, float64
        self.output = output
        self.ranges = ranges  # of the inputs, to differentiate by
        self.replays = [*replays]  # of an exact program; not pickled: it is recorded again
        self.exact: dict[Any, Function] = {}  # what was made of them
        self._uses = 0  # besides those of its codes
        self._codes: dict[Any, Code] = {}
        self._plans: dict[Any, MatrixPlan] = {}
        self._failures: dict[Any, ObstacleError | PointError] = {}

    def __getstate__(self) -> Any:
        return {
            "watch": None,
            "_may_enter": self._may_enter,
            "_shapes": self._shapes,
            "_tape_program": None,
            "graph": self.graph,
            "outcomes": self.outcomes,
            "output": self.output,
            "ranges": self.ranges,
            "replays": [],
            "exact": {},
            "_uses": 0,
            "_codes": {},
            "_plans": {},
            "_failures": {},
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        given, made = (sum(map(prod, shapes)) for shapes in (self._shapes, self.output.shapes))
        n = self.graph.n_inputs
        if (
            (given, made) != (n, self.graph.n_outputs)
            or min(chain(*self._shapes, *self.output.shapes), default=0) < 0
            or any(not 0 <= begin <= end <= n for begin, end in self.ranges)
            or self.outcomes != self.graph.outcomes
        ):
            raise ValueError(
                "this is no program that was pickled: its recording takes "
                f"{n} numbers and gives {self.graph.n_outputs}, where its arguments and results "
                f"have {given} and {made}"
            )

    @property
    def is_number(self) -> bool:
        """Whether f returned one number."""
        return self.graph.n_outputs == 1 and self.output.is_leaf

    @property
    def is_differentiable(self) -> bool:
        """Whether gradient functions take what f returned."""
        return self.output.is_differentiable

    @property
    def is_portable(self) -> bool:
        """Whether it can be pickled: its steps, or classes of results, may not.

        What it was seen to read, but is not found in the code, is not watched at loading.
        """
        was_observed = self.watch is not None and self.watch.was_observed
        return not was_observed and is_portable((self.graph.steps, self.output))

    @property
    def is_current(self) -> bool:
        """Whether what f has read beside its arguments is as it was."""
        return self.watch is None or self.watch.holds()

    @property
    def n_outcomes(self) -> int:
        """How many outcomes the guards of f have."""
        return len(self.outcomes) // 8

    @property
    def guards(self) -> tuple[bool, ...]:
        """Of each guard whether it rests on equality."""
        return self.graph.guards

    def code(self, what: str, ranges: tuple[Range, ...] = ()) -> Code:
        """The program for something, made when it is first wanted."""
        key = (what, ranges)
        code = self._codes.get(key)
        if code is None:
            make: Callable[..., Code] = getattr(self.graph, f"{what}_code")
            code = self._made(key, make if what == "value" else lambda: make(ranges))
            self._codes[key] = code
        return code

    def _made(self, key: Any, make: Callable[[], Any]) -> Any:
        """What make() answers; that it cannot be made is found out once."""
        failure = self._failures.get(key)
        if failure is not None:
            raise failure
        try:
            return make()
        except (ObstacleError, PointError) as error:
            self._failures[key] = error.with_traceback(None)
            raise

    def plan(
        self,
        what: str,
        ranges: tuple[Range, ...],
        layout: str = "dense",
        sparsity: Hashable = None,
        pattern: Callable[[], Pattern | None] = lambda: None,
        for_points: bool = False,
    ) -> MatrixPlan:
        """The plan for a matrix, of the entries that `sparsity` stands for."""
        key = (f"{layout} {what}{' of points' if for_points else ''}", (ranges, sparsity))
        plan = self._plans.get(key)
        if plan is None:
            plan = self._made(
                key,
                lambda: binding.plan_matrix(
                    self.graph, what, ranges, pattern(), layout, for_points
                ),
            )
            self._plans[key] = plan
        return plan

    def code_for_points(self, what: str, ranges: tuple[Range, ...] = ()) -> Code:
        """The code that computes a value or a derivative at many points at once."""
        key = (f"{what} of points", ranges)
        code = self._codes.get(key)
        if code is None:
            which = () if what == "value" else (ranges,)
            code = self._made(key, lambda: self.graph.code_for_points(what, *which))
            self._codes[key] = code
        return code

    @property
    def codes(self) -> dict[Any, Code | MatrixPlan]:
        return {**self._codes, **self._plans}

    @property
    def nbytes(self) -> int:
        """Of the recording and all that was made of it."""
        parts = [self.graph, *self.replays, *self.codes.values()]
        return sum(part.nbytes for part in parts)

    def use(self) -> None:
        """Note that it has served a call."""
        self._uses += 1

    @property
    def uses(self) -> int:
        """How many calls it has served, besides the first one."""
        uses = self._uses
        for code in [*self._codes.values()]:
            uses += code.uses
        for plan in [*self._plans.values()]:
            uses += plan.code.uses
        return uses

    def filled(self, numbers: FloatArray) -> Any:
        """What f returns, in floats, given all its numbers in a row."""
        return self.output.restored(leaves_of(numbers, self.output.shapes))

    def sample(self, *args: Any, **kwargs: Any) -> Any:
        """Something like what f returns, for gradient functions that refuse it."""
        return self.returned(np.zeros(self.graph.n_outputs))

    def returned(self, numbers: FloatArray) -> Any:
        """What f returns, given all its numbers in a row."""
        return self.output.returned(leaves_of(numbers, self.output.shapes))

    def entered(self, name: str, atoms: list[Any]) -> Any:
        """What f returns within another derivative, as one entry of the tape.

        NOT_ENTERED if f has to be run there.
        """
        if not self._may_enter:
            return NOT_ENTERED
        if self._tape_program is None:
            self._tape_program = binding.tape_program_of(
                self.graph, name, self._shapes, self.output.shapes
            )
        found = self._tape_program.call(atoms)
        if type(found) is tuple:
            raise MissedError(*found)
        return NOT_ENTERED if found is None else self.output.returned(found, within=True)


def leaves_of(numbers: FloatArray, shapes: Sequence[tuple[int, ...]]) -> list[Any]:
    """Numbers in a row as fresh leaves: floats and arrays."""
    if not any(shapes):
        floats: list[Any] = numbers[: len(shapes)].tolist()
        return floats
    return [
        numbers[part].reshape(shape).copy() if shape != () else float(numbers[part.start])
        for part, shape in places(shapes)
    ]


def first_argument(args: tuple[Any, ...]) -> tuple[int, ...]:
    """The first argument, if it can be differentiated by: as for gradients."""
    return (0,) if args and not is_int(args[0]) and is_differentiable(args[0]) else ()


def ways_to_take(args: tuple[Any, ...]) -> tuple[tuple[int, ...], ...]:
    """What may come first among the inputs of a plain call, the more likely way first.

    Nothing is differentiated there: integers in the first argument are integers, as in any other,
    unless f cannot do with them, and tables are tables.
    """
    if args and _is_of_floats(args[0]):  # as it mostly is
        return ((0,),)
    numbers = first_argument(args)
    if not numbers:
        return (numbers,)
    leaves, _ = binding.flattened(args[0], _is_row)
    if any(map(is_table, leaves)):
        return ((),)
    has_integers = any(_are_integers(_unmasked(leaf)) for leaf in leaves)
    return ((), numbers) if has_integers else (numbers,)


def _is_of_floats(item: Any) -> bool:
    return type(item) is float or (type(item) is np.ndarray and item.dtype.kind == "f")


def is_differentiable(tree: Any) -> bool:
    """Whether a tree consists of real numbers."""
    try:
        binding.structure_of((tree,), (0,))
    except TypeError:
        return False
    return True


def run(
    f: Function,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    first: tuple[int, ...],
    changed: Callable[[Changes], None] = binding.assign,
) -> Any:
    """What f returns, run once on numbers as derivatives run it.

    first: the arguments in which integers are numbers, too. changed: gets what f has assigned to
    its arguments.
    """
    numbers = None if kwargs else binding.plain_numbers(args)
    if numbers is not None:
        result = binding.run_once(f, args, numbers, _finalized, changed)
        if result is NotImplemented:
            raise NoDerivativeError(WRITES)
        return result
    call = Call(args, kwargs, first)
    with Recording(tuple(call.inputs), tuple(range(len(call.inputs))), f=f) as recording:
        numbers_and_others, named = call.with_inputs(recording.lifted)
        try:
            out = f(*numbers_and_others, **named)
        except Exception:
            if recording.refused_inputs:
                raise NoDerivativeError(WRITES) from None
            raise
        changes = call.changes_in(recording)
        if changes is None:
            raise NoDerivativeError(WRITES)
        if changes:
            changed(changes)
        del numbers_and_others, named
        return _finalized(recording, out)


def _finalized(recording: Recording, out: Any) -> Any:
    output = Returned(out)
    if output.obstacle:  # it may hold numbers of the recording
        raise NoDerivativeError(output.obstacle)
    return _finalized_output(recording, output)


def _finalized_output(recording: Recording, output: Returned) -> Any:
    values = recording.finalize(output.atoms)
    output.atoms = []  # Vars that are alive when the tape is rewound have to be found
    return output.returned([*map(as_result, values)])


def record(
    f: Function, call: Call, optimize: bool, exact: bool = False, within: bool = False
) -> Recorded | str:
    """Run f; what it did, or the reason why that cannot be replayed.

    With `exact` there is a Replay of it, too. `within` another derivative nothing is recorded
    of a function that keeps numbers, which may carry that.

    Where f raises, or comes to an obstacle, for want of plain integers or values, what it changed
    is put back, and it runs again: with single ints as they are, then with all that is plain.
    """
    call.ran, call.once, call.changes = (), None, []
    if not call.statics and (counter := counter_of(f)):
        return AsGiven(f"it changes {counter}")
    try:
        watch = watch_call(f, call.statics)
    except UnwatchableError as error:
        return error.reason
    if watch.asks_types:  # of its arguments: those of stand-ins are others
        call.lift(frozenset())
    before = Before(call.args, call.kwargs, watch)

    def is_undone() -> bool:
        call.put_back_sets()
        if not before.restore():
            return False
        call.ran, call.once, call.changes, call.changed_watch = (), None, [], None
        return True

    def record_once(reads: bool) -> Recorded | str:
        # A mask has a type of its own: where types are asked for, comparisons give plain bools.
        with Guarded(call.inputs, f, exact or watch.asks_types, reads) as guarded:
            args, kwargs = call.with_inputs(guarded.lifted, lends=True)
            contents = Contents(args, kwargs)
            generators = Generators(watch.generators)
            observed = Observation(watch)
            try:
                with observed:
                    out = f(*args, **kwargs)
            except BaseException as error:
                watch.settle(settled)
                if isinstance(error, Exception) and guarded.recording.refused_inputs:
                    before.restore()
                    return WRITES
                if raised := observed.error_behind(error):
                    raise raised from None
                raise
            generators.forget_unused()
            is_changed = contents.are_changed or before.are_arguments_changed
            del args, kwargs, contents
            output = Returned(out)
            del out
            for setting in sorted(observed.settings, key=lambda setting: setting[1]):
                watch.answer(*setting)
                watch.was_observed = True  # and is no more known from the code alone
            hidden = ""
            if not watch.holds():
                watch.settle(settled)
                call.changed_watch = watch
            else:
                hidden = observed.obstacle
            if generators.names:
                hidden = DRAWS.format(name=generators.names[0])
            found = _taken(guarded, output, call, watch, before, optimize, exact, hidden)
            if is_changed:  # f has to run on what was given
                before.restore()
                call.ran, call.once, call.changes, found = (), None, [], CHANGED
            output.atoms = []  # Vars that are alive when the tape is rewound have to be found
        return found

    given = call.lifted
    for lifted in dict.fromkeys((given, given - call.single_ints, frozenset())):
        call.lift(lifted)
        count = made()
        try:
            found = record_once(False)
        except Exception:
            if made() == count or not is_undone():
                raise
            if not lifted:
                return record_once(True)
            continue
        if within and call.changed_watch is not None and is_undone():
            found = OUTER
        if not lifted or isinstance(found, Recorded) or found == OUTER or not is_undone():
            break
    if isinstance(found, str):
        call.lift(given)
    return found


def _taken(
    guarded: Guarded,
    output: Returned,
    call: Call,
    watch: Watch,
    before: Before,
    optimize: bool,
    exact: bool,
    hidden: str,
) -> Recorded | str:
    """What was recorded, or why it cannot be replayed."""
    changed = call.put_back_sets()
    call.changes = call.changes_in(guarded.recording)
    writes = guarded.recording.writes_inputs or guarded.recording.refused_inputs
    if integers := call.changed_integers:
        writes = True
        call.changes = None if call.changes is None else [*call.changes, *integers]
    own: str = guarded.obstacle or hidden
    obstacle = own
    keeps = are_kept(binding.guards_serial())
    if keeps:
        obstacle = obstacle or KEPT
    if not guarded.made(output.atoms):
        obstacle = obstacle or OUTER
    if changed:
        obstacle = obstacle or "it changes an argument, a set, in place: pass a copy"
    if writes:
        obstacle = own = own or obstacle or WRITES
    obstacle = obstacle or output.obstacle
    if obstacle:
        is_own = own not in ("", OUTER) and not output.obstacle
        # It met other texts than those of NumPy's scalars, or would find what it assigned to an
        # argument by another name, too: f runs again, if nothing remains of what it did.
        is_other = guarded.is_shown or own == WRITES
        runs_again = is_other and before.restore()
        if is_own and not (keeps or changed or runs_again or call.changes is None):
            with contextlib.suppress(ObstacleError):
                made = _made_of(guarded, output, call, watch, optimize, exact)
                call.once = (made, call.lifted) if isinstance(made, Recorded) else None
            call.ran = (_finalized_output(guarded.recording, output),)
        return AsGiven(obstacle) if guarded.is_shown or writes else obstacle
    return _made_of(guarded, output, call, watch, optimize, exact)


def _made_of(
    guarded: Guarded, output: Returned, call: Call, watch: Watch, optimize: bool, exact: bool
) -> Recorded | str:
    """What was recorded as a graph, or why it cannot be replayed to the last bit."""
    replays = []
    if exact:
        replay = guarded.replay(output.atoms, call.n_variables, output.returned)
        if isinstance(replay, str):
            return replay
        replays.append(replay)
    return Recorded(
        binding.graph_of(guarded.recording, output.atoms, optimize),
        output,
        call.ranges,
        [shape for shapes in guarded.recording.structure.leaf_shapes() for shape in shapes],
        replays,
        watch,
        binding.are_views_of_one(output.atoms),
    )
