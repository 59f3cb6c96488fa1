"""Gradient functions under autograd's names: cadiff's, and what is made of them."""

import contextlib
import inspect
import warnings
from functools import partial
from typing import Any

import cadiff
from cadiff import numpy as np

from ..trees import Function
from . import trees
from .core import make_jvp as _make_jvp
from .core import make_vjp as _make_vjp
from .core import vspace
from .wrap_util import named_after, point_of, unary_to_nary, wraps

__all__ = [
    *("checkpoint", "deriv", "elementwise_grad", "grad", "grad_and_aux", "grad_named", "hessian"),
    *("hessian_tensor_product", "hessian_vector_product", "holomorphic_grad", "jacobian"),
    *("make_ggnvp", "make_hvp", "make_jvp", "make_jvp_reversemode", "make_vjp", "multigrad_dict"),
    *("tensor_jacobian_product", "value_and_grad", "vector_jacobian_product"),
]

make_vjp, make_jvp = unary_to_nary(_make_vjp), unary_to_nary(_make_jvp)


@unary_to_nary
def make_jvp_reversemode(fun: Function, x: Any) -> Function:
    """A function of a tangent at x: the tangent of the value, computed in forward mode."""
    return lambda v: _make_jvp(fun, x)(v)[1]


def _made(make: Function, place: int | None = None) -> Any:
    """An operator of one of cadiff's; place: of the derivative, if that is one result of two."""

    @wraps(make)
    def operator(fun: Function, argnum: Any = 0) -> Function:
        made = make(fun, argnum)

        @named_after(operator, fun, argnum)
        def transformed(*args: Any, **kwargs: Any) -> Any:
            point, result = point_of(args, argnum), made(*map(trees.given, args), **kwargs)
            if place is None:
                return trees.given_back(result, point)
            pairs = enumerate(result)
            return tuple(trees.given_back(x, point if k == place else None) for k, x in pairs)

        return transformed

    return operator


@_made
def hessian(fun: Function, argnum: Any = 0) -> Any:
    """Of shape `(*output's, *argument's, *argument's)`."""
    number = lambda *a, **kw: () if np.ndim(out := fun(*a, **kw)) else out  # noqa: E731

    def made(*args: Any, **kwargs: Any) -> Any:
        point = point_of(args, argnum)
        if not (trees.is_container(point) or np.iscomplexobj(point)):
            with contextlib.suppress(TypeError):  # of one number it takes a third of the time
                return cadiff.hessian(number, argnum)(*args, **kwargs)
        return cadiff.jacobian(cadiff.jacobian(fun, argnum), argnum)(*args, **kwargs)

    return made


grad, jacobian = _made(cadiff.grad), _made(cadiff.jacobian)
elementwise_grad, value_and_grad = _made(cadiff.elementwise_grad), _made(cadiff.value_and_grad, 1)
grad.__doc__ = "\n    Returns a function which returns the gradient of `fun`, a number."
grad_and_aux = _made(partial(cadiff.grad, has_aux=True), 0)
grad_and_aux.__name__ = "grad_and_aux"
grad_and_aux.__doc__ = "The gradient of the first of two things that `fun` returns; the second."


@unary_to_nary
def deriv(fun: Function, x: Any) -> Any:
    """The derivative along ones, by forward mode."""
    return _make_jvp(fun, x)(vspace(x).ones())[1]


@unary_to_nary
def holomorphic_grad(fun: Function, x: Any) -> Any:
    """The derivative of an analytic function."""
    if not vspace(x).iscomplex:
        warnings.warn("Input to holomorphic_grad is not complex", stacklevel=3)
    return grad(lambda x: np.real(fun(x)))(x)


def grad_named(fun: Function, argname: str) -> Any:
    """The gradient by an argument that is given by its name."""
    return grad(fun, [*inspect.signature(fun).parameters].index(argname))


@unary_to_nary
def make_hvp(fun: Function, x: Any) -> Any:
    """What multiplies the Hessian at x with a vector, and the gradient there."""
    return _make_vjp(grad(fun), x)


def _times_last(fun: Function) -> Function:
    """A function times a tensor, which is its last argument."""
    return lambda *args, **kw: np.tensordot(args[-1], fun(*args[:-1], **kw), np.ndim(args[-1]))


def hessian_tensor_product(fun: Function, argnum: Any = 0) -> Any:
    """A function of `(*args, tensor)`: the Hessian times the tensor."""
    return grad(_times_last(grad(fun, argnum)), argnum)


def tensor_jacobian_product(fun: Function, argnum: Any = 0) -> Any:
    """A function of `(*args, tensor)`: the tensor times the Jacobian."""
    return jacobian(_times_last(fun), argnum)


hessian_vector_product = hessian_tensor_product
vector_jacobian_product = tensor_jacobian_product


def make_ggnvp(f: Function, g: Function | None = None, f_argnum: Any = 0) -> Any:
    """What multiplies the generalized Gauss-Newton matrix of `g(f(x))` with a vector."""

    @unary_to_nary
    def make(f: Function, x: Any) -> Function:
        pull, y = _make_vjp(f, x)
        curvature, _ = _make_vjp(grad(g or (lambda y: 0.5 * np.sum(y**2, axis=-1))), y)
        push = _make_jvp(f, x)
        return lambda v: pull(curvature(push(v)[1]))

    return make(f, f_argnum)


def multigrad_dict(fun: Function) -> Function:
    """The gradients by all arguments: a dict of them by name."""
    signature = inspect.signature(fun)

    def of_arguments(arguments: dict[str, Any]) -> Any:
        call = inspect.BoundArguments(signature, arguments)
        return fun(*call.args, **call.kwargs)

    def gradients(*args: Any, **kwargs: Any) -> dict[str, Any]:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return dict(grad(of_arguments)(dict(bound.arguments)))

    return gradients


checkpoint = cadiff.checkpoint
