"""Checks of derivatives by differences, along random directions; and small helpers."""

import itertools
import warnings
from typing import Any

from .core import make_jvp, make_vjp, vspace
from .wrap_util import get_name, subvals, unary_to_nary

TOL = RTOL = EPS = 1e-6


def scalar_close(a: Any, b: Any) -> bool:
    """Whether numbers differ by at most 1e-6, absolutely or relatively."""
    return bool(abs(a - b) < TOL or abs(a - b) / abs(a + b) < RTOL)


def make_numerical_jvp(f: Any, x: Any) -> Any:
    """What maps a direction at x to the central difference of f along it."""
    space, of_f = vspace(x), vspace(f(x))

    def difference(v: Any) -> Any:
        step, back = (space.scalar_mul(v, side) for side in (0.5 * EPS, -0.5 * EPS))
        above, below = f(space.add(x, step)), f(space.add(x, back))
        return of_f.scalar_mul(of_f.add(above, of_f.scalar_mul(below, -1.0)), 1.0 / EPS)

    return difference


def check_vjp(f: Any, x: Any) -> None:
    vjp, y = make_vjp(f, x)
    space, of_f = vspace(x), vspace(y)
    v, w = space.randn(), of_f.randn()
    pulled = space.covector(vjp(of_f.covector(w)))
    assert vspace(pulled) == space, f"{vspace(pulled)}, {space}"
    exact = space.inner_prod(v, pulled)
    numeric = of_f.inner_prod(w, make_numerical_jvp(f, x)(v))
    assert scalar_close(numeric, exact), (
        f"Derivative (VJP) check of {get_name(f)} failed with arg {x}:\n"
        f"analytic: {exact}\nnumeric:  {numeric}"
    )


def check_jvp(f: Any, x: Any) -> None:
    v = vspace(x).randn()
    check_equivalent(make_jvp(f, x)(v)[1], make_numerical_jvp(f, x)(v))


def check_equivalent(x: Any, y: Any) -> None:
    """Assert that values are of one space and close, by a random projection."""
    space, other = vspace(x), vspace(y)
    assert space == other, f"VSpace mismatch:\nx: {space}\ny: {other}"
    v = space.randn()
    assert scalar_close(space.inner_prod(x, v), space.inner_prod(y, v)), (
        f"Value mismatch:\nx: {x}\ny: {y}"
    )


@unary_to_nary
def check_grads(f: Any, x: Any, modes: Any = ("fwd", "rev"), order: int = 2) -> None:
    """Assert that the derivatives of f up to an order are those of differences."""
    checks: dict[str, Any] = {
        "fwd": (check_jvp, "jvp", lambda x, v: make_jvp(f, x)(v)[1], lambda: x),
        "rev": (check_vjp, "vjp", lambda x, v: make_vjp(f, x)[0](v), lambda: f(x)),
    }
    for mode in modes:
        check, name, next_order, of = checks[mode]
        check(f, x)
        if order > 1:
            next_order.__name__ = f"{name}_{get_name(f)}"
            check_grads(next_order, (0, 1), modes, order=order - 1)(x, vspace(of()).randn())


def combo_check(fun: Any, *how: Any, **named: Any) -> Any:
    """A `check_grads` of all combinations of the arguments that are given."""

    def check(*args: Any, **kwargs: Any) -> None:
        for values in itertools.product(*args, *kwargs.values()):
            options = dict(zip(kwargs, values[len(args) :], strict=True))
            check_grads(fun, *how, **named)(*values[: len(args)], **options)

    return check


def quick_grad_check(
    fun: Any, arg0: Any, extra_args: Any = (), kwargs: Any = None, **_: Any
) -> None:
    """Check a gradient by differences; autograd deprecates it."""
    warnings.warn("quick_grad_check is deprecated: use test_util.check_grads", stacklevel=2)
    check_grads(lambda x: fun(x, *extra_args, **(kwargs or {})), modes=["rev"], order=1)(arg0)


def subval(x: Any, i: int, v: Any) -> tuple[Any, ...]:
    """A tuple with another value at one place."""
    return subvals(x, [(i, v)])


def func(f: Any) -> Any:
    return f
