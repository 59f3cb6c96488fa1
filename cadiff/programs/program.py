"""Compiled programs: a function is recorded once, and replayed in C.

`compile`, the entrance, says what that promises. Here is a Program as an object: how it is made,
bound to instances, pickled and cleared. The modules of its parts have what its methods do.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any, Generic, overload

from ..binding import ProgramMethods, WeakMethod, callers, foreign_names, is_eager, ways_to_take
from ..operations.naming import name_for_pickle
from ..transforms._base import Function, P, T, answering, check_function, show_as
from .batches import WHAT, Batches, checked_threads, note_rows
from .derivatives import Derivatives
from .fallbacks import EAGER, Eager, run_once
from .matrices import Format, SparseMatrices, requested
from .native import Machines, Native
from .report import Report
from .traces import MAX_TRACES, OnBranchChange, Traces
from .verification import Verify, checked_verify
from .walks import watch_of

ENOUGH_USES = 4  # of recordings, so that they were worth their time


class Program(Report, ProgramMethods, Generic[P, T]):
    """A function that is recorded once for each structure of its arguments, then replayed in C.

    Made by `compile`, which describes it and the limits of f. Called like f; the methods are the
    gradient functions of the same names, applied to f. With `argnums` (an int or a tuple) they
    differentiate by other arguments than the first.

    A program is safe to call from several threads, and pickles if f does.
    """

    def __init__(
        self,
        f: Callable[P, T],
        on_branch_change: OnBranchChange = "retrace",
        optimize: bool = True,
        max_traces: int = MAX_TRACES,
        threads: int | None = None,
        native: Native = None,
        verify: Verify | None = None,
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
        threads = checked_threads(threads)
        machines = Machines(native, optimize)
        self._verify = verify
        self._traces = Traces(
            *(f, on_branch_change, optimize, max_traces, threads, machines),
            *(checked_verify(verify), self._fast_paths),
        )
        self._eager = Eager(self._traces)
        self._general = Derivatives(self._traces, self._eager)
        self.matrices = SparseMatrices(self._traces)
        self.batches = Batches(self._traces, self._eager)
        show_as(self, f)

    if TYPE_CHECKING:  # the binding has it

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T: ...

    # --- as an object

    def _for_object(self, instance: object, n_run: int) -> Program[..., Any]:
        program: Program[..., Any] = Program(WeakMethod(self._function, instance), **self._options)
        program._traces.counts["eager"] = n_run
        program._traces.no_stand_ins = self._traces.no_stand_ins
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
            if self._traces.no_stand_ins or self._traces.runs_on_own:
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
        reads = watch_of(self._function)
        state = {
            "recordings": self._traces.portable(),
            "integers": dict(self._traces.integers),
            "reads": None if reads is None else reads.fingerprint(),
        }
        return Program, (self._function, *self._options.values()), state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """What was recorded of other code, or where something else is read, is of no use."""
        reads = watch_of(self._function)
        if reads is not None and reads.fingerprint() == state["reads"]:
            self._traces.restore(state["recordings"], state["integers"])
            for recorded in self._traces:
                recorded.watch = reads

    def _own_derivative(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A derivative that a gradient function is asked for: see `own_derivatives`."""
        if is_eager(args, kwargs):
            return NotImplemented
        method = self._jacfwd if name == "jacfwd" else getattr(self, name)
        return method(*args, **kwargs)

    @property
    def _options(self) -> dict[str, Any]:
        """As `compile` takes them."""
        traces = self._traces
        return {
            "on_branch_change": traces.on_branch_change,
            "optimize": traces.optimize,
            "max_traces": traces.max_traces,
            "threads": traces.threads,
            "native": traces.machines.native,
            "verify": self._verify,
        }

    def __repr__(self) -> str:
        return repr(self._traces)

    # --- recordings

    def be_quiet(self) -> None:
        """Give no warnings: where nobody has asked for a program, f runs eagerly and unseen."""
        self._traces.is_quiet = True

    def clear(self) -> None:
        """Forget all recordings, and why f was run eagerly."""
        with self._traces.lock():
            self._traces.clear()
            self._forget_objects()
            for part in (self._eager, self.matrices, self.batches):
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
            How many threads share the points, if the program may use as many. None: as many as it
            may use, if there is enough to do.
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
            return self.batches.batch(one, X, others, kwargs, what, threads, argnums)
        except Exception as error:
            note_rows(error, what, X, others)
            raise callers.shortened(error)  # noqa: B904

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
        return self.matrices.sparse(request, (x, *args), kwargs, argnums)

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
        return self.matrices.sparse(request, (x, *args), kwargs, argnums)


for _name, _member in foreign_names.absent(
    foreign_names.OF_PROGRAMS, foreign_names.PROGRAMS
).items():
    setattr(Program, _name, _member)


def program_of(f: Callable[..., Any]) -> Program[..., Any]:
    """F as a program; one that cannot be recorded is run eagerly, and nobody is told."""
    if isinstance(f, Program):
        return f
    program: Program[..., Any] = Program(f)
    program.be_quiet()
    return program


@overload
def compile(
    f: Callable[P, T],
    *,
    on_branch_change: OnBranchChange = ...,
    optimize: bool = ...,
    max_traces: int = ...,
    threads: int | None = ...,
    native: Native = ...,
    verify: Verify | None = ...,
) -> Program[P, T]: ...
@overload
def compile(
    f: None = None,
    *,
    on_branch_change: OnBranchChange = ...,
    optimize: bool = ...,
    max_traces: int = ...,
    threads: int | None = ...,
    native: Native = ...,
    verify: Verify | None = ...,
) -> Callable[[Callable[P, T]], Program[P, T]]: ...
@answering
def compile(
    f: Function | None = None,
    *,
    on_branch_change: OnBranchChange = "retrace",
    optimize: bool = True,
    max_traces: int = MAX_TRACES,
    threads: int | None = None,
    native: Native = None,
    verify: Verify | None = None,
) -> Any:
    """Record a function once, and replay it and its derivatives in C.

    A program gives what f gives, never a stale result. While f is recorded, its floats are numbers
    with derivatives; it may be any Python code. `docs/compile.md` has examples, and the details.

    * Inputs are floats, arrays of floats, and all numbers in arguments to differentiate by. So are
      ints, and arrays of ints or bools, from their second value on, until f reads that, as
      `range(k)` does: then they are constants. Other values of inputs need no other recording.
    * Constants are all else that is in the arguments, shapes and containers included, such as
      strings, functions and objects. For other constants f is recorded anew.
    * Watched is what f reads beside its arguments: globals, closures, defaults, attributes, and
      what is in them. After a change f is recorded anew; `stats()["watched"]` tells the last ones.
      What lies outside of Python (files, clocks, time zones, settings of libraries) is not
      watched: f is run eagerly where it, or Python's library for it, calls what reads these.
    * Guards are the outcomes of comparisons, and ints that f makes of values. A call that meets
      others is recorded anew. What a comparison of arrays chooses without being read, as in
      `where(x > 0, a, b)`, is no guard: replays choose again.
    * f is run eagerly, with a warning that says why, where a replay would not do the same: where
      it changes what is there after the call, but to keep a result for later ones; draws random
      numbers, or reads what cannot be watched, such as a clock; asks which object an argument is,
      or for the text or plain float of a number; or returns objects of classes of its own.

    Parameters
    ----------
    f : callable, optional
        Without it, a decorator.
    on_branch_change : {"retrace", "raise", "warn"}
        Where no recording meets the guards: record f, raise RuntimeError, or record and warn.
    optimize : bool
        False: value and derivatives are those of f and its gradient functions to the last bit.
    max_traces : int
        How many recordings there are of the same constants; calls that meet none run f eagerly.
    threads : int, optional
        How many threads share one call where arrays are large, and batches. None: as many as the
        process may use, where there is enough to do. Results do not depend on it, to the last bit.
    native : {"auto", True, "background", False}, optional
        "auto": what has run for longer than its machine code takes to make has that made by the C
        compiler at hand, in the background, and is served by it if that is faster; no bit of
        results changes. True: the first call waits for it; see `build`. "background": the same,
        but calls do not wait. None: as CADIFF_NATIVE of the environment says, else "auto"; 0 turns
        it off, and with "asked" it is made only for those who ask.
    verify : {"first", "always", False}, optional
        "first": before a recording serves, f runs on plain numbers: in the call that was recorded,
        and once more in the first call with other numbers. Where values differ by more than
        rounding does, a `StaleProgramWarning` says how, and f is run eagerly from then on.
        "always": that in each call, and a derivative along a random direction, for tests. None: as
        CADIFF_VERIFY of the environment says, else "first".

    Examples
    --------
    >>> import cadiff
    >>> f = cadiff.compile(lambda x: x**2 if x > 1.0 else x)
    >>> f(3.0), f.grad(3.0), f.grad(0.5)
    (9.0, 6.0, 1.0)
    """
    if f is None:
        return functools.partial(
            compile,
            on_branch_change=on_branch_change,
            optimize=optimize,
            max_traces=max_traces,
            threads=threads,
            native=native,
            verify=verify,
        )
    return Program(f, on_branch_change, optimize, max_traces, threads, native, verify)


def build(program: Program[P, T], *, wait: bool = True) -> Program[P, T]:
    """Have the C compiler at hand make machine code of a program.

    What was made of its recordings so far, as values and gradients, becomes machine code now; what
    will be, when it is first run. Results are what they were: a program of single numbers takes a
    third of the time, arithmetic on arrays a half to a quarter. What has no text in C, as calls
    of Python, is carried out as before; `stats()["native"]` tells.

    Compilers take about a third of a millisecond an operation. What they made is kept for other
    processes in the user's cache folder, or in CADIFF_CACHE: `python -m cadiff info` says where,
    and how much. They are CC of the environment, or the first of cc, gcc and clang, or the one
    that `pip install "cadiff[native]"` brings.

    Parameters
    ----------
    program : Program
        What `compile` gives.
    wait : bool
        False: a thread does it, while calls run as before.

    Returns
    -------
    Program
        The same program.

    Raises
    ------
    RuntimeError
        If there is no compiler, if it fails, or if the folder is not this user's alone.

    Examples
    --------
    >>> import cadiff
    >>> f = cadiff.compile(lambda x: x * cadiff.sin(x))
    >>> f(0.0)
    0.0
    >>> f = cadiff.build(f)  # doctest: +SKIP
    >>> f.stats()["native"]  # doctest: +SKIP
    'machine code'
    """
    if not isinstance(program, Program):
        raise TypeError(
            f"build takes a program, not a {type(program).__name__}: write "
            "cadiff.build(cadiff.compile(f)), or cadiff.compile(f, native=True)"
        )
    program._traces.build(wait)
    return program
