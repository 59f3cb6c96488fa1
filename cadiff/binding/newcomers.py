"""What other packages call things, and what to write here instead.

For those who come from JAX, PyTorch, autograd, TensorFlow or CasADi and try the names they know;
for the texts of errors alone. Names of the package are found by its `__getattr__`. Those of
numbers stand in the types as descriptors that raise AttributeError: `hasattr` is False, and what
exists costs no more; `dir` leaves them out.
"""

from __future__ import annotations

import dis
import sys
from importlib.util import find_spec
from types import FrameType
from typing import Any, NoReturn

_VALUE = "x.value, or cadiff.value(x), is the plain value"
_STOP = "cadiff.stop_gradient(x) is the number without its derivative; " + _VALUE
_RECORDED = "numbers are recorded where they are used: write cadiff.Var(x), or cadiff.grad(f)(x)"
_FLOATS = "all numbers with derivatives are computed in float64"
_PROCESSOR = "all numbers are on the processor, and there is nothing to move or to wait for"
_ASSIGN = (
    "write x[index] = number, or x[index] += number: arrays of cadiff.numpy can be assigned to"
)
_IN_PLACE = "write x[...] = number, x += number and their like"
_CONTAINERS = "tuples, lists, dicts and dataclasses are arguments and results as they are"
_FLATTEN = "cadiff.flatten(tree) gives a vector and a function that takes it apart again"
_CONTROL = "write Python's own if, for and while: cadiff.compile records them, too"
_SYMBOLS = "write a Python function of numbers, and cadiff.grad(f), cadiff.compile(f)"
_VAR = "write cadiff.Var(x), or give a plain array to cadiff.grad(f)"
_COMPILE = "write cadiff.compile(f)"
_PRIMITIVE = "write cadiff.custom(f, ...) or cadiff.primitive, which take derivatives of your own"
_ARRAY = "write cadiff.array(x), or cadiff.numpy.asarray(x)"
_PLAIN = "call the function with plain arrays, of which nothing is recorded"
_OPTIMIZE = "write cadiff.optimize.{}, after `import cadiff.optimize`"
_GRAD = "write cadiff.grad(f)(x), or cadiff.Var(x), y.backward() and x.grad"
_HVP = "write cadiff.hvp(f)(x, v)"

# Names of the package.
NAMES: dict[str, str] = {
    **dict.fromkeys(("jit", "njit", "function", "script", "trace", "tracing"), _COMPILE),
    "Function": "write cadiff.compile(f); " + _PRIMITIVE.removeprefix("write "),
    **dict.fromkeys(("tensor", "Tensor", "variable", "Variable", "Parameter", "param"), _VAR),
    **dict.fromkeys(("node", "Node", "Value"), _VAR),
    **dict.fromkeys(("constant", "as_tensor", "from_numpy", "ndarray"), _ARRAY),
    "convert_to_tensor": _ARRAY,
    **dict.fromkeys(("SX", "MX", "DM", "Symbol", "symbols", "placeholder"), _SYMBOLS),
    **dict.fromkeys(("GradientTape", "backward", "gradients", "autodiff", "diff_tape"), _GRAD),
    **dict.fromkeys(("no_grad", "inference_mode", "enable_grad", "stop_recording"), _PLAIN),
    **dict.fromkeys(("detach", "stop_grad"), "write cadiff.stop_gradient(x), or cadiff.value(x)"),
    **dict.fromkeys(("lax", "scan", "cond", "while_loop", "fori_loop", "switch"), _CONTROL),
    **dict.fromkeys(
        ("tree", "tree_util", "tree_map", "pytree", "register_pytree_node"),
        f"{_CONTAINERS}; cadiff.register_container makes others known",
    ),
    **dict.fromkeys(("ravel_pytree", "flatten_util", "unflatten"), _FLATTEN),
    **dict.fromkeys(
        ("custom_jvp", "custom_vjp", "custom_gradient", "defvjp", "defjvp", "pure_callback"),
        _PRIMITIVE,
    ),
    **dict.fromkeys(("custom_root", "rootfinder", "implicit_root"), "write cadiff.root(f, x0)"),
    **dict.fromkeys(("remat", "recompute_grad"), "write cadiff.checkpoint(f)"),
    "make_jaxpr": "write cadiff.make_tape(f)(x), or cadiff.compile(f).to_text()",
    **dict.fromkeys(("pmap", "pjit", "parallel"), "write cadiff.vmap(f), or program.batch(X)"),
    **dict.fromkeys(("device", "device_put", "devices", "cuda", "block_until_ready"), _PROCESSOR),
    **dict.fromkeys(("float32", "float64", "set_default_dtype", "enable_x64", "config"), _FLOATS),
    "random": "draw plain numbers with numpy.random, and compute with them",
    "PRNGKey": "draw plain numbers with numpy.random, and compute with them",
    **dict.fromkeys(("deriv", "diff", "D", "differentiate"), "write cadiff.derivative(f, x)"),
    "holomorphic_grad": "write cadiff.grad(f, holomorphic=True)",
    "grad_and_aux": "write cadiff.grad(f, has_aux=True)",
    "multigrad_dict": "write cadiff.grad of a function that takes a dict",
    "grad_and_value": "write cadiff.value_and_grad(f), whose results come in this order",
    "value_and_gradient": "write cadiff.value_and_grad(f)",
    **dict.fromkeys(("hessian_vector_product", "make_hvp", "vhp", "hessp"), _HVP),
    **dict.fromkeys(("jac", "Jacobian", "batch_jacobian"), "write cadiff.jacobian(f)(x)"),
    **dict.fromkeys(("hess", "Hessian", "hessians"), "write cadiff.hessian(f)(x)"),
    **dict.fromkeys(("make_vjp", "vector_jacobian_product", "vJp"), "write cadiff.vjp(f, x)"),
    **dict.fromkeys(
        ("make_jvp", "jacobian_vector_product", "jtimes", "ForwardAccumulator"),
        "write cadiff.jvp(f, (x,), (v,))",
    ),
    **dict.fromkeys(("gradcheck", "test_gradients"), "write cadiff.check_grads(f, args)"),
    **dict.fromkeys(
        ("detect_anomaly", "set_detect_anomaly", "debug_nans", "check_numerics"),
        "write `with cadiff.nan_check():`",
    ),
    "autograd": "cadiff.grad, jacobian, hessian, vjp and jvp are in cadiff itself",
    "func": "cadiff.grad, vjp, jvp, jacrev, jacfwd, hessian and vmap are in cadiff itself",
    "register_pytree_node_class": "write cadiff.register_container(cls, flatten, unflatten)",
    **{
        name: _OPTIMIZE.format(there)
        for name, there in {
            "minimize": "minimize", "least_squares": "least_squares", "curve_fit": "curve_fit",
            "adam": "adam", "Adam": "adam", "AdamW": "adam", "sgd": "sgd", "SGD": "sgd",
            "lbfgs": "lbfgs", "LBFGS": "lbfgs", "optim": "adam", "optimizers": "adam",
            "Opti": "minimize", "nlpsol": "minimize", "qpsol": "minimize",
        }.items()
    },
    "integrator": "write its steps in Python",
    "odeint": "write its steps in Python",
    "vertcat": "write cadiff.stack or cadiff.concatenate",
    "horzcat": "write cadiff.numpy.hstack or cadiff.numpy.column_stack",
    "sumsqr": "write x @ x",
    "jnp": "write `import cadiff.numpy as np`",
    "np": "write `import cadiff.numpy as np`",
    "anp": "write `import cadiff.numpy as np`",
}  # fmt: skip

# Names of numbers, which are called x.
NUMBERS: dict[str, str] = {
    "at": _ASSIGN,
    "detach": _STOP,
    "detach_": _STOP,
    **dict.fromkeys(("numpy", "eval", "read_value", "primal_value", "nominal_value"), _VALUE),
    **dict.fromkeys(("requires_grad", "requires_grad_", "retain_grad", "watch"), _RECORDED),
    **dict.fromkeys(("is_leaf", "grad_fn"), "x.parents are the numbers it was computed from"),
    **dict.fromkeys(("gradient", "derivative", "deriv", "d", "backprop", "adjoint"), _GRAD),
    **dict.fromkeys(
        ("cpu", "cuda", "to", "block_until_ready", "devices", "pin_memory"), _PROCESSOR
    ),
    **dict.fromkeys(("double", "half", "float", "type"), _FLOATS),
    **dict.fromkeys(("long", "int"), "write x.astype(int), which has no derivative"),
    "clone": "write x.copy()",
    "contiguous": "write x.copy()",
    **dict.fromkeys(
        ("assign", "copy_", "fill_", "zero_", "add_", "sub_", "mul_", "div_"), _IN_PLACE
    ),
    **dict.fromkeys(("assign_add", "assign_sub", "set_value"), _IN_PLACE),
    "permute": "write x.transpose(axes)",
    "unsqueeze": "write x[None], or cadiff.numpy.expand_dims(x, axis)",
    "expand": "write cadiff.numpy.broadcast_to(x, shape)",
    "expand_as": "write cadiff.numpy.broadcast_to(x, other.shape)",
    "numel": "write x.size",
    "dim": "write x.ndim",
    **dict.fromkeys(("mm", "bmm", "mv", "matmul"), "write x @ y"),
    "norm": "write cadiff.numpy.linalg.norm(x)",
    "mul": "write x * y",
    "div": "write x / y",
    "add_n": "write x + y",
    "t": "write x.T",
    "is_cuda": _PROCESSOR,
}


class Absent:
    """What stands in a type for a name that other packages have: there is no such attribute."""

    def __init__(self, name: str, instead: str) -> None:
        self.__name__ = name
        self.__doc__ = instead

    def __get__(self, number: Any, kind: type | None = None) -> NoReturn:
        raise AttributeError(absence(self.__name__), name=self.__name__, obj=number)


def absence(name: str) -> str:
    """That numbers have no such attribute, and what to write instead."""
    return f"numbers with derivatives have no attribute {name!r}: {NUMBERS[name]}"


def absent() -> dict[str, Absent]:
    """The descriptors for the types of numbers, by name."""
    return {name: Absent(name, instead) for name, instead in NUMBERS.items()}


def shown(number: Any) -> list[str]:
    """What `dir` shows of a number: what it has."""
    return sorted(set(object.__dir__(number)) - NUMBERS.keys())


PLACES = ("numpy", "numpy.linalg", "nn", "optimize", "scipy.special", "numpy.fft")


def missing(package: str, name: str) -> NoReturn:
    """Raise that the package has no such name, with what to write instead."""
    text = f"module {package!r} has no attribute {name!r}"
    instead = "" if name.startswith("_") else NAMES.get(name) or _place_of(package, name)
    if instead:
        text += f": {instead}"
        if _is_imported_from(sys._getframe(2)):
            raise ImportError(
                f"cannot import name {name!r} from {package!r}: {instead}", name=name
            )
    raise AttributeError(text, name=name, obj=sys.modules.get(package))


def _place_of(package: str, name: str) -> str:
    """Where in the package something of this name is, a module or in a module."""
    if name.isidentifier() and find_spec(f"{package}.{name}") is not None:
        return f"write `import {package}.{name}` first"
    places = (f"{package}.{place}" for place in PLACES)
    found = next((p for p in places if hasattr(sys.modules.get(p), name)), "")
    return f"write {found}.{name}" if found else ""


def _is_imported_from(frame: FrameType | None) -> bool:
    """Whether a frame is at `from module import name`, which would not show the text."""
    if frame is None or frame.f_lasti < 0:
        return False
    return dis.opname[frame.f_code.co_code[frame.f_lasti]] == "IMPORT_FROM"
