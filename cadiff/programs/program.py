"""Compiled programs: a function is recorded once, and replayed in C.

A Program as an object: how it is made, bound to instances, pickled and cleared. The modules of its
parts have what its methods do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any, Generic

from ..binding import (
    Calls,
    MatrixPlan,
    Watch,
    WeakMethod,
    callers,
    newcomers,
    ways_to_take,
)
from ..inspection.texts import Graph
from ..operations.naming import name_for_pickle
from ..transforms._base import P, T, check_function, show_as
from .batches import WHAT, Batches
from .derivatives import Derivatives
from .fallbacks import EAGER, Eager, run_once
from .matrices import Format, Request, SparseMatrices, requested
from .profiles import Profile
from .reasons import UnwatchableError
from .report import Report
from .traces import OnBranchChange, Traces, is_eager
from .walks import watch_call

__all__ = ["Program"]


ENOUGH_USES = 4  # of recordings, so that they were worth their time


class Program(Calls, Generic[P, T]):
    """A function that is recorded once for each structure of its arguments, then replayed in C.

    Made by `compile`, which says what it does and what f may do. Called like f; the methods are
    the gradient functions of the same names, applied to f. With `argnums` (an int or a tuple) they
    differentiate by other arguments than the first.

    A program is safe to call from several threads, and pickles if f does.
    """

    def __init__(
        self,
        f: Callable[P, T],
        on_branch_change: OnBranchChange = "retrace",
        optimize: bool = True,
        max_traces: int = 8,
    ) -> None:
        check_function("compile", f)
        if on_branch_change not in ("retrace", "raise", "warn"):
            raise ValueError(
                f'on_branch_change is "retrace", "raise" or "warn", not {on_branch_change!r}'
            )
        if isinstance(max_traces, bool) or not isinstance(max_traces, int) or max_traces < 1:
            raise ValueError(f"max_traces is an int of 1 or more, not {max_traces!r}")
        if not isinstance(optimize, bool):
            raise ValueError(f"optimize is True or False, not {optimize!r}")
        self._function = f
        self._traces = Traces(f, on_branch_change, optimize, max_traces, self._fast_paths)
        self._eager = Eager(self._traces, self._fast_paths)
        self._general = Derivatives(self._traces, self._eager, self._fast_paths)
        self._matrices = SparseMatrices(self._traces)
        self._batches = Batches(self._traces, self._eager)
        self._report = Report(self._traces)
        show_as(self, f)

    if TYPE_CHECKING:  # the binding has it

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T: ...

    # --- as an object

    def _for_object(self, instance: object, n_run: int) -> Program[..., Any]:
        program: Program[..., Any] = Program(WeakMethod(self._function, instance), **self._options)
        program._traces.counts["eager"] = n_run
        program._traces.as_given = self._traces.as_given
        return program

    @property
    def _waits_for_objects(self) -> bool:
        return self._traces.optimize and self._traces.on_branch_change == "retrace"

    def _run_for(
        self, instance: object, what: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if is_eager(args, kwargs):
            return NotImplemented
        f = MethodType(self._function, instance)
        if what == "value":
            if self._traces.as_given:
                return f(*args, **kwargs)
            return run_once(f, args, kwargs, ways_to_take(args), self._traces)
        transform = EAGER[what](f, kwargs.pop("argnums", 0))
        return transform(*args, **kwargs)

    @property
    def _pays(self) -> bool:
        return sum(recorded.uses for recorded in self._traces) >= ENOUGH_USES

    def __reduce__(self) -> Any:
        """By name where it stands in the place of its function, as decorators do; else with it."""
        name = name_for_pickle(self, getattr(self, "__qualname__", ""))
        if name is not None:
            return name
        reads = self._reads()
        state = {
            "recordings": self._traces.portable(),
            "integers": dict(self._traces.integers),
            "reads": None if reads is None else reads.fingerprint(),
        }
        return Program, (self._function, *self._options.values()), state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """What was recorded of other code, or where something else is read, is of no use."""
        reads = self._reads()
        if reads is not None and reads.fingerprint() == state["reads"]:
            self._traces.restore(state["recordings"], state["integers"])
            for recorded in self._traces:
                recorded.watch = reads

    def _own_derivative(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A derivative that a gradient function is asked for: see `own_derivatives`."""
        if is_eager(args, kwargs):
            return NotImplemented
        return getattr(self, name)(*args, **kwargs)

    @property
    def _options(self) -> dict[str, Any]:
        """As `compile` takes them."""
        traces = self._traces
        return {
            "on_branch_change": traces.on_branch_change,
            "optimize": traces.optimize,
            "max_traces": traces.max_traces,
        }

    def _reads(self) -> Watch | None:
        """What f reads beside its arguments; None if that cannot be watched."""
        try:
            return watch_call(self._function, [])
        except UnwatchableError:
            return None

    def __repr__(self) -> str:
        return repr(self._traces)

    # --- recordings

    def be_quiet(self) -> None:
        """Give no warnings: where nobody has asked for a program, f is run as it is unseen."""
        self._traces.is_quiet = True

    def clear(self) -> None:
        """Forget all recordings, and why f was run as it is."""
        with self._traces.lock():
            self._traces.clear()
            self._forget_objects()
            for part in (self._eager, self._matrices, self._batches):
                part.clear()

    # --- many points, and matrices

    def batch(
        self,
        X: Any,
        /,
        *others: Any,
        what: str = "value",
        threads: int | None = None,
        argnums: int | Sequence[int] = 0,
        **kwargs: Any,
    ) -> Any:
        """Values or derivatives at many points: the first argument has one leading axis more.

        Points are computed side by side, and by several threads, without the GIL.

        Parameters
        ----------
        X : array_like, shape (points, ...)
            One first argument after the other.
        *others, **kwargs
            The other arguments, which are the same for all points.
        what : {"value", "grad", "value_and_grad", "jacobian", "hessian"}
            What is wanted for each point.
        threads : int, optional
            How many threads share the points. None: as many as the process may use, if there is
            enough to do.
        argnums : int or tuple of ints
            What to differentiate by.

        Returns
        -------
        What the method of that name gives, with one leading axis more on each array: float64, of
        values. A flat list or tuple of k numbers that f returns is an array of shape (points, k).

        Raises
        ------
        TypeError
            If f returns something else than real numbers, arrays of them, or containers of them.
        ValueError
            If what f returns has another structure or other shapes at a point than at the first.
        """
        if what not in WHAT:
            raise ValueError(f"what is one of {list(WHAT)}, not {what!r}")
        one = getattr(self, what)
        try:
            return self._batches.batch(one, X, others, kwargs, what, threads, argnums)
        except Exception as error:
            raise callers.shortened(error)  # noqa: B904

    def run_batch(self, batch: Any, threads: int | None) -> bool:
        """Compute a Batch: see Batches.run."""
        return self._batches.run(batch, threads)

    def sparse_jacobian(
        self,
        x: Any,
        /,
        *args: Any,
        sparsity: Any = None,
        format: Format = "csr",
        argnums: int | Sequence[int] = 0,
        **kwargs: Any,
    ) -> Any:
        """The Jacobian as `cadiff.sparse_jacobian` gives it.

        By several arguments it is one matrix, whose columns are those of one argument after the
        other.
        """
        request = requested("jacobian", sparsity, format)
        return self._matrices.sparse(request, (x, *args), kwargs, argnums)

    def sparse_hessian(
        self,
        x: Any,
        /,
        *args: Any,
        sparsity: Any = None,
        format: Format = "csr",
        argnums: int | Sequence[int] = 0,
        **kwargs: Any,
    ) -> Any:
        """The Hessian of the one number that f returns, as `cadiff.sparse_hessian` gives it.

        By several arguments it is one matrix by all their numbers, of one argument after the
        other.
        """
        request = requested("hessian", sparsity, format)
        return self._matrices.sparse(request, (x, *args), kwargs, argnums)

    def sparse(self, request: Request, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The matrix that is requested."""
        return self._matrices.sparse(request, args, kwargs)

    def planned(
        self, request: Request, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[Any, MatrixPlan | None]:
        """The matrix that is requested, and how it was computed; None if f was run as it is."""
        return self._matrices.planned(request, args, kwargs)

    # --- what it tells of itself

    def stats(self) -> dict[str, Any]:
        """What there is, and what happened.

        Returns
        -------
        dict
            "recordings": how often f was recorded. "branch_changes": how often a replay met
            another outcome of a comparison than all its recordings had. "eager": how often f was
            run as it is; "obstacles": the reasons why, a list of str. "watched": a dict from the
            names of what is looked at besides arguments to how it changed last before f was
            recorded again, a str, or None. "traces": for each recording at hand a dict of "inputs"
            and "outputs" (numbers), "operations" recorded, "guards", "watched": what f has read
            beside its arguments, a list of str, "changed": what of this is not as it was, and
            "programs": for each derivative that was asked for the number of its operations and its
            bytes.
        """
        return self._report.stats()

    def profile(self, /, *args: Any, what: str = "value_and_grad", **kwargs: Any) -> Profile:
        """Which operations of a program take the time, at some arguments.

        Each instruction is timed by itself, in C, in some replays; so are single operations, that
        a run of them may be divided among its kinds. Replays that are not profiled do not ask for
        any of this.

        Parameters
        ----------
        *args, **kwargs
            Arguments of f, of which the first is differentiated by.
        what : {"value", "grad", "value_and_grad", "jvp", "vjp", "hvp", "jacobian", "hessian"}
            Which program. A matrix that is made of products is none: ask for these.

        Returns
        -------
        Profile
            A named tuple of `what`, the `seconds` of a replay, and `costs`: for each kind of
            operation its name, how many numbers it computes, seconds, and the files and lines in
            which f has it.

        Examples
        --------
        >>> import cadiff, numpy as np
        >>> program = cadiff.compile(lambda x: (cadiff.exp(x) * x).sum())
        >>> profile = program.profile(np.ones(100_000), what="value")
        >>> sorted((cost.operation, cost.numbers) for cost in profile.costs)
        [('exp', 100000), ('multiply', 100000), ('sum', 100000)]
        """
        return self._report.profile(args, kwargs, what)

    def to_text(self, max_rows: int = 200) -> str:
        """The programs that were made so far, instruction by instruction.

        Parameters
        ----------
        max_rows : int
            How many lines of a program are shown at most: the first and the last ones.

        Returns
        -------
        str
            Each recording at hand; and for each derivative that was asked for, its program: a
            line for each instruction. w[k] is the number at place k; the inputs come first.
            Constants are at places below 0; where they are read by themselves, their values are
            written.

        Examples
        --------
        >>> import cadiff, cadiff.numpy as cnp, numpy as np
        >>> f = cadiff.compile(lambda x: cnp.sum(cnp.sin(x) * x))
        >>> f(np.zeros(99))
        0.0
        >>> print(f.to_text())
        <cadiff.Program of <lambda>, 1 recording>
        <BLANKLINE>
        recording 0: 99 inputs, 1 output, 3 operations, 0 guards
        <BLANKLINE>
        value: 99 inputs, 1 result, 297 operations, 3 instructions, 298 places
        #0  vector  99 × sin       w[99..197] = sin(w[0..98])
        #1  vector  99 × multiply  w[198..296] = w[99..197] * w[0..98]
        #2  sum     (99,)          w[297] = sum of w[198 + i0]
            result  1 number       w[297]
        """
        return self._report.to_text(max_rows)

    def to_graph(self, what: str | None = None, max_rows: int = 100) -> Graph:
        """One of the programs that were made so far as a graph: see `cadiff.plot.graph`.

        Parameters
        ----------
        what : str, optional
            How `to_text` calls it, or how that begins: "value", "gradient" ... The first one of
            the recording that was used last unless told.
        max_rows : int
            How many instructions are in it at most: the first and the last ones.

        Returns
        -------
        Graph
            As from `Tape.to_graph`.
        """
        return self._report.to_graph(what, max_rows)

    def to_dot(self, max_rows: int = 100) -> str:
        r"""The programs that were made so far as a graph in the language of Graphviz.

        Parameters
        ----------
        max_rows : int
            How many instructions of a program are shown at most: the first and the last ones.

        Returns
        -------
        str
            A frame for each program, as `to_text` has them. Nodes are instructions; edges lead to
            them from those that wrote what they read.

        Examples
        --------
        >>> import cadiff
        >>> f = cadiff.compile(lambda x: cadiff.sin(x) * x)
        >>> f(0.0)
        0.0
        >>> print(f.to_dot())
        digraph "<cadiff.Program of <lambda>, 1 recording>" {
          subgraph cluster_0 {
            label="recording 0, value";
            node [shape=box, fontname="monospace"];
            p0_inputs [label="inputs\nw[0]", style=rounded];
            p0_op0 [label="#0.0 sin\nw[1] = sin(w[0])"];
            p0_op1 [label="#0.1 multiply\nw[2] = w[1] * w[0]"];
            p0_results [label="1 result", style=rounded];
            p0_inputs -> p0_op0;
            p0_inputs -> p0_op1;
            p0_op0 -> p0_op1;
            p0_op1 -> p0_results;
          }
        }
        """
        return self._report.to_dot(max_rows)

    def to_c(self, /, *args: Any, name: str | None = None, **kwargs: Any) -> str:
        """A file of C99 with value and gradient, which needs nothing but the C library.

        Parameters
        ----------
        *args, **kwargs
            Arguments of f, of which the first is differentiated by: they choose the recording, and
            make it if need be. Without any, it is the only one that there is.
        name : str, optional
            What the functions are called: `name_value`, `name_value_and_grad`. None: as f is.

        Returns
        -------
        str
            The comment at its head says how to call them. A call that meets another outcome of a
            comparison than the recording did returns the number of that guard, and no result.

        Examples
        --------
        >>> import cadiff, numpy as np
        >>> program = cadiff.compile(lambda x: x[0] * cadiff.sin(x[1]))
        >>> text = program.to_c(np.ones(2), name="wave")
        >>> "int wave_value_and_grad(const double *x" in text
        True
        """
        return self._report.to_c(args, kwargs, name)

    def _repr_html_(self) -> str:
        """For notebooks: a table of the recordings, and of what was made of them."""
        return self._report.to_html()


for _name, _member in newcomers.absent(newcomers.OF_PROGRAMS, newcomers.PROGRAMS).items():
    setattr(Program, _name, _member)
