"""Forward mode: one run on Duals of a tag of its own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, Literal, overload

from .. import binding
from ..binding import Structure, callers, foreign_names
from ..operations.arrays import opened
from ..operations.missing_derivatives import report_doubts
from ._base import Function, check_function, own_derivatives, takes
from ._outputs import Output, as_result

_NONE: tuple[()] = ()  # arguments


def lift(
    args: tuple[Any, ...],
    argnums: tuple[int, ...],
    structure: Structure,
    atoms: Sequence[Any],
    tangents: Sequence[Any],
    tag: int,
) -> list[Any]:
    """Arguments with Duals for their atoms; tangents have their shapes, perhaps with lanes."""
    pairs = zip(atoms, map(binding.widened, tangents), strict=True)
    duals = [binding.make_dual(x, t, tag) for x, t in pairs]
    lifted = list(args)
    for k, argument in zip(argnums, structure.in_containers(duals, False), strict=True):
        lifted[k] = argument
    return lifted


def run_forward(
    f: Function,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    argnums: tuple[int, ...],
    tangents: Sequence[Any],
    has_aux: bool = False,
    lanes: int = -1,
) -> tuple[Output, list[Any], list[Any], Structure, Any]:
    """One run on Duals, whose tangents have so many lanes, or none.

    Returns the output, its primals, its tangents (with lanes, if any), the structure of the
    arguments and aux.
    """
    atoms, structure = binding.take_apart(args, argnums)

    def run(atoms: Sequence[Any]) -> tuple[Output, list[Any], list[Any], Structure, Any]:
        with binding.Forward(lanes, (f, args)) as tag:
            lifted = lift(args, argnums, structure, atoms, tangents, tag)
            out = f(*lifted, **kwargs)
            aux = None
            if has_aux:
                out, aux = binding.split_aux(out)
                aux = binding.map_numbers(
                    aux, lambda x: binding.finalized(binding.split_dual(x, tag)[0])
                )
            output, values, along = parted(out, tag)
        return output, values, along, structure, aux

    refused = callers.n_refused
    try:
        return run(atoms)
    except TypeError:
        if callers.n_refused == refused or not binding.is_differentiating():
            raise
    # Numbers of an outer differentiation were assigned to arrays that are made of plain ones.
    return run([opened(atom) if binding.ndim(atom) else atom for atom in atoms])


def parted(out: Any, tag: int) -> tuple[Output, list[Any], list[Any]]:
    """What f returned: the output, its primals and its tangents."""
    output = Output(out)
    pairs = [binding.final_parts(atom, tag) for atom in output.atoms]
    report_doubts(chain.from_iterable(pairs))
    return output, [p for p, _ in pairs], [t for _, t in pairs]


def restored_parts(out: Any, tag: int) -> tuple[Any, Any]:
    """Value and tangent of what f returned, both in its containers."""
    output, *parts = parted(out, tag)
    value, tangent = [output.restored([*map(as_result, atoms)]) for atoms in parts]
    return value, tangent


@overload
def jvp(
    f: Function, primals: Sequence[Any], tangents: Sequence[Any], *, has_aux: Literal[False] = ...
) -> tuple[Any, Any]: ...
@overload
def jvp(
    f: Function, primals: Sequence[Any], tangents: Sequence[Any], *, has_aux: Literal[True]
) -> tuple[Any, Any, Any]: ...
def jvp(
    f: Function,
    primals: Sequence[Any] = _NONE,
    tangents: Sequence[Any] = _NONE,
    *,
    has_aux: bool = False,
) -> Any:
    """Value and directional derivative (Jacobian times vector), by forward mode.

    Parameters
    ----------
    f : callable
        Called as `f(*primals)`; returns numbers, arrays or containers of them.
    primals, tangents : tuples
        The arguments and the direction, which has their structure.
    has_aux : bool
        f returns `(out, aux)`.

    Returns
    -------
    (out, tangent_out), or (out, tangent_out, aux)
        Both of the structure that f returned.

    Examples
    --------
    >>> import cadiff
    >>> cadiff.jvp(lambda x, y: x * y, (2.0, 3.0), (1.0, 0.0))
    (6.0, 3.0)
    """
    if primals is _NONE and not takes(f, ()):
        raise TypeError(foreign_names.of_point("jvp", 0))
    if not has_aux and type(primals) is tuple and type(tangents) is tuple:
        answer = binding.push_plain(f, primals, tangents, restored_parts)
        if answer is not NotImplemented:
            return answer
    for name, value in (("primals", primals), ("tangents", tangents)):
        if not isinstance(value, (tuple, list)):
            raise TypeError(
                f"{name} is a tuple with one entry for each argument of f, not "
                f"{type(value).__name__}: write jvp(f, (x,), (v,))"
            )
    check_function("jvp", f)
    ask = None if has_aux else own_derivatives(f)
    if ask is not None:
        answer = ask("jvp", (primals, tangents), {})
        if answer is not NotImplemented:
            return answer
    args = tuple(primals)
    argnums = tuple(range(len(args)))
    structure = binding.structure_of(args, argnums)
    if len(tangents) != len(args):
        arguments = "1 argument" if len(args) == 1 else f"{len(args)} arguments"
        raise ValueError(f"there are {len(tangents)} tangents for {arguments}")
    directions = structure.match(tuple(tangents), [f"tangents[{k}]" for k in argnums])
    output, values, derivatives, _, aux = run_forward(f, args, {}, argnums, directions, has_aux)
    result = (
        output.restored([*map(as_result, values)]),
        output.restored([*map(as_result, derivatives)]),
    )
    return (*result, aux) if has_aux else result
