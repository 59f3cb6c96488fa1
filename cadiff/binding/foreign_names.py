"""What other packages call things, and what to write here instead.

For those who come from JAX, PyTorch, autograd, TensorFlow or CasADi and try the names they know;
for the texts of errors alone. Names of the package are found by its `__getattr__`. Those of
numbers and of programs stand in the types as descriptors that raise AttributeError: `hasattr` is
False, and what exists costs no more; `dir` leaves them out. Arguments by keyword are looked up
when a call has failed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from types import CoroutineType, FunctionType, GeneratorType
from typing import Any, NoReturn

from .bytecode import Kind, kind_at

_VALUE = "x.value, or cadiff.value(x), is the plain value"
_STOP = "cadiff.stop_gradient(x) is the number without its derivative; " + _VALUE
_RECORDED = "numbers are recorded where they are used: write cadiff.Var(x), or cadiff.grad(f)(x)"
_FLOATS = "numbers have the dtype of the arguments: pass x.astype(np.float32) for float32"
_PROCESSOR = "all numbers are on the processor, and there is nothing to move or to wait for"
_ASSIGN = (
    "write x[index] = number, or x[index] += number: arrays of cadiff.numpy can be assigned to"
)
_IN_PLACE = "write x[...] = number, x += number and their like"
_CONTAINERS = "tuples, lists, dicts and dataclasses are arguments and results"
_FLATTEN = "cadiff.flatten(tree) gives a vector and a function that takes it apart again"
_CONTROL = "write Python's own if, for and while: cadiff.compile records them, too"
_SYMBOLS = "write a Python function of numbers, and cadiff.grad(f), cadiff.compile(f)"
_TABLE = (
    "tables are arrays where they are differentiated: index by position, pass a dict of columns, "
    "or make the table a container (cadiff.register_container)"
)
_VAR = "write cadiff.Var(x), or give a plain array to cadiff.grad(f)"
_COMPILE = "write cadiff.compile(f)"
_PRIMITIVE = "write cadiff.custom(f, ...) or cadiff.primitive, which take derivatives of your own"
_ARRAY = "write cadiff.array(x), or cadiff.numpy.asarray(x)"
_PLAIN = "call the function with plain arrays, of which nothing is recorded"
_OPTIMIZE = "write cadiff.optimize.{}, after `import cadiff.optimize`"
_GRAD = "write cadiff.grad(f)(x), or cadiff.Var(x), y.backward() and x.grad"
_LAYER = "a layer is a function of its weights, which a dict may hold: write x @ W + b"
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
    **dict.fromkeys(
        ("integrator", "odeint", "diffeqsolve"),
        "write cadiff.scipy.integrate.solve_ivp, after `import cadiff.scipy.integrate`",
    ),
    "vertcat": "write cadiff.stack or cadiff.concatenate",
    "horzcat": "write cadiff.numpy.hstack or cadiff.numpy.column_stack",
    "sumsqr": "write x @ x",
    **dict.fromkeys(("ln", "log_e"), "write cadiff.log(x)"),
    **dict.fromkeys(("if_else", "ifelse", "IfElse"), "write cadiff.where(condition, x, y)"),
    **dict.fromkeys(("mse_loss", "MSELoss", "mse"), "write ((y - target) ** 2).mean()"),
    **dict.fromkeys(
        ("CrossEntropyLoss", "NLLLoss", "nll_loss"), "write cadiff.nn.cross_entropy(y, labels)"
    ),
    **dict.fromkeys(("Linear", "Dense", "Sequential", "Module", "Layer", "Conv2d"), _LAYER),
    **{
        name: f"write cadiff.{there}(x)"
        for name, there in {
            "ReLU": "relu", "Sigmoid": "nn.sigmoid", "Softmax": "nn.softmax", "Tanh": "tanh",
            "GELU": "nn.gelu", "Softplus": "softplus",
        }.items()
    },
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
    "append": "write cadiff.numpy.append(x, y), or collect numbers in a list",
    **dict.fromkeys(("loc", "iloc", "iat", "columns", "index"), _TABLE),
    **dict.fromkeys(("values", "to_numpy"), "it is an array already; " + _VALUE),
    "register_hook": "write cadiff.custom(f, ...), which takes derivatives of your own",
}

_DUAL = "a Dual has .primal and .tangent, which is computed along with it"
# Those that one kind of numbers has, by the name of the other.
DUALS: dict[str, str] = {
    **dict.fromkeys(("value", "v"), "write x.primal, or cadiff.value(x)"),
    **dict.fromkeys(("grad", "gv"), f"write x.tangent: {_DUAL}"),
    **dict.fromkeys(("backward", "zero_grad"), f"there is nothing to sweep back over: {_DUAL}"),
    **dict.fromkeys(("eps", "epsilon", "partials", "partial"), "write x.tangent"),
}
VARS: dict[str, str] = {
    "primal": "write x.value, or cadiff.value(x)",
    "tangent": "a Var has .grad, after y.backward(); cadiff.Dual has a tangent",
    "dual": "a Var has .grad, after y.backward(); cadiff.Dual has a tangent",
}

_METHOD = "write program.{}"
# Names of programs.
PROGRAMS: dict[str, str] = {
    **{
        name: _METHOD.format(there)
        for name, there in {
            "gradient": "grad(x)", "derivative": "grad(x)", "backward": "grad(x)",
            "value_and_gradient": "value_and_grad(x)", "grad_and_value": "value_and_grad(x)",
            "jac": "jacobian(x)", "jacrev": "jacobian(x)", "jacfwd": "jacobian(x)",
            "hess": "hessian(x)", "hessp": "hvp(x, v)", "hessian_vector_product": "hvp(x, v)",
            "hess_sparse": "sparse_hessian(x)", "jac_sparse": "sparse_jacobian(x)",
            "vmap": "batch(X)", "map": "batch(X)", "mapaccum": "batch(X)",
            "generate": "to_c(...)", "cache_clear": "clear()", "clear_cache": "clear()",
            "pretty_print": "to_text()", "graph": "to_dot()", "code": "to_text()",
        }.items()
    },
    **dict.fromkeys(
        ("run", "eval", "evaluate", "forward", "apply", "execute"), "call it: program(x)"
    ),
    **dict.fromkeys(("lower", "compile", "trace", "jit"), "it is compiled by its first call"),
    **dict.fromkeys(
        ("save", "load", "dump"), "write pickle.dump(program, file), or program.to_c(...)"
    ),
}  # fmt: skip

_ARGNUMS = "the arguments to differentiate by are chosen with argnums={value!r}"
_POSITIONS = "the arguments to differentiate by are chosen by position, as in argnums=(0, 2)"
_NESTED = "derivatives can be differentiated again: cadiff.grad(cadiff.grad(f))"
_STATICS = "ints, bools, strings and None are no inputs anyway"
# Arguments by keyword, of functions that have none of that name.
KEYWORDS: dict[str, str] = {
    **dict.fromkeys(("argnum", "wrt", "arg", "argnos"), _ARGNUMS),
    **dict.fromkeys(("argnames", "argname", "variables", "inputs"), _POSITIONS),
    **dict.fromkeys(("create_graph", "retain_graph", "persistent"), _NESTED),
    "allow_int": "ints that are differentiated by are taken for floats",
    **dict.fromkeys(("allow_unused", "strict"), "what f does not use has a derivative of 0"),
    **dict.fromkeys(("static_argnums", "static_argnames"), _STATICS),
    "device": _PROCESSOR,
    "dtype": _FLOATS,
    "requires_grad": _RECORDED,
}
# Those that only have another name here.
RENAMED: dict[str, str] = {
    "in_dims": "in_axes",
    "out_dims": "out_axes",
    **dict.fromkeys(("lr", "step_size", "alpha"), "learning_rate"),
    **dict.fromkeys(("steps", "num_steps", "n_iter", "maxiter"), "epochs"),
    **dict.fromkeys(("batchsize", "batch"), "batch_size"),
    **dict.fromkeys(("eps",), "epsilon"),
    **dict.fromkeys(("tolerance", "gtol", "xtol", "ftol"), "tol"),
    **dict.fromkeys(("jacobian", "gradient", "grad"), "jac"),
    **dict.fromkeys(("hessian",), "hess"),
    "optimise": "optimize",
    **dict.fromkeys(("verbose", "show_progress"), "progress"),
}

_ERRORS = "write result.standard_errors(), the roots of the diagonal of result.covariance()"
# Names of results of optimisers.
RESULTS: dict[str, str] = {
    **dict.fromkeys(("errors", "errs", "standard_error", "stderr", "std", "se", "bse"), _ERRORS),
    **dict.fromkeys(("perr", "sigma", "uncertainty", "uncertainties"), _ERRORS),
    **dict.fromkeys(("cov", "pcov", "cov_x", "cov_params", "covar"), "write result.covariance()"),
    **dict.fromkeys(
        ("params", "parameters", "popt", "solution", "argmin", "optimum", "best"),
        "write result.x",
    ),
    **dict.fromkeys(
        ("value", "fval", "fmin", "minimum", "loss", "f", "residuals"), "write result.fun"
    ),
    **dict.fromkeys(("iterations", "niter", "n_iter"), "write result.nit"),
    **dict.fromkeys(("converged", "is_converged", "ok"), "write result.success"),
    **dict.fromkeys(("grad", "gradient", "jacobian"), "write result.jac"),
    **dict.fromkeys(("hess", "H"), "write result.hessian()"),
    "hess_inv": "write numpy.linalg.inv(result.hessian(flat=True)), or result.covariance()",
    **dict.fromkeys(("summary", "report"), "write print(result), and result.standard_errors()"),
    "trace": "write callback=cadiff.optimize.History(), which result.history is then",
}

# What SciPy takes among the options of a method.
_OPTIONS = ("maxiter", "maxfev", "maxfun", "disp", "ftol", "xtol", "xatol", "fatol", "maxls")


class Absent:
    """What stands in a type for a name that other packages have: there is no such attribute."""

    def __init__(self, owners: str, name: str, instead: str) -> None:
        self.__name__ = name
        self.__doc__ = f"{owners} no attribute {name!r}: {instead}"

    def __get__(self, thing: Any, kind: type | None = None) -> NoReturn:
        raise AttributeError(self.__doc__, name=self.__name__, obj=thing)


def absent(owners: str, *tables: Mapping[str, str]) -> dict[str, Any]:
    """The members of types that have none of the names in some tables."""
    names = {name: instead for table in tables for name, instead in table.items()}

    def shown(thing: Any) -> list[str]:
        """What `dir` shows of something: what it has."""
        return sorted(set(object.__dir__(thing)) - names.keys())

    descriptors = {name: Absent(owners, name, text) for name, text in names.items()}
    return {**descriptors, "__dir__": shown}


OF_NUMBERS = "numbers with derivatives have"
OF_PROGRAMS = "programs have"


def misfit(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """What to write instead of a call that a function does not take; "" if that is not known."""
    from inspect import signature

    name, parameters = function.__name__, signature(function).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return ""
    for keyword, value in kwargs.items():
        if keyword not in parameters:
            there = RENAMED.get(keyword)
            if there in parameters:
                instead = f"write {there}={value!r}"
            elif keyword in _OPTIONS and "options" in parameters:
                instead = f"write options={{{keyword!r}: {value!r}}}"
            elif keyword in KEYWORDS:
                instead = KEYWORDS[keyword].format(value=value)
            else:
                instead = f"its arguments are {', '.join(parameters)}"
            return f"{name} takes no {keyword}: {instead}"
    n_taken = sum(p.kind is not p.KEYWORD_ONLY for p in parameters.values())
    if name in _AT_A_POINT:
        return f"{name} takes the point beside f: write {_AT_A_POINT[name]}"
    if len(args) > n_taken and callable(args[0]):
        return (
            f"{name}(f) gives a function, which is to be called: "
            f"write {called_later(name, len(args) - 1)}"
        )
    return ""


# How functions of a function are called that differentiate it at once.
_AT_A_POINT = {
    "jvp": "jvp(f, (x,), (v,))",
    "vjp": "out, pullback = vjp(f, x), and pullback(u)",
    "linearize": "out, lin = linearize(f, x), and lin(v)",
    "check_grads": "check_grads(f, (x,))",
}
# And how those are that are made of a function, where it is not with its arguments alone.
_CALLED_LATER = {"hvp": "x, v", "vmap": "X"}


def called_later(name: str, n: int = 1) -> str:
    """How something that is made of a function f is called, which is given n arguments."""
    given = "x, y, ..." if n > 3 else ", ".join("xyz"[:n])
    return f"{name}(f)({_CALLED_LATER.get(name, given)})"


def of_point(name: str, n: int) -> str:
    """What to write where a function does not take the n arguments that it was to be run with."""
    given = "none" if n == 0 else "1 argument" if n == 1 else f"{n} arguments"
    return f"{name} runs f at a point, here with {given}: write {_AT_A_POINT[name]}"


def positions(names: Sequence[str], function: Any) -> str:
    """What to write where arguments to differentiate by are named; "" if f has no such names."""
    from inspect import signature

    try:
        known = list(signature(function).parameters)
    except (TypeError, ValueError):  # as of some functions in C
        known = []
    if not names or not all(name in known for name in names):
        return _POSITIONS
    found = tuple(map(known.index, names))
    return f"arguments are chosen by position: write argnums={found if found[1:] else found[0]}"


def of_result(out: Any) -> str:
    """What may be wrong with a function that returns something else than numbers."""
    if out is None:
        return "; is a return missing?"
    if isinstance(out, GeneratorType):
        return ": it yields; return a number, such as the sum of what is yielded"
    if isinstance(out, CoroutineType):
        out.close()  # else Python warns that nobody has waited for it
        return ": it is async; write it with a plain def"
    if isinstance(out, FunctionType):
        return "; are the parentheses of a call missing?"
    if isinstance(out, str):
        return ": return the number itself, not its text"
    return ""


PLACES = ("numpy", "numpy.linalg", "nn", "optimize", "scipy.special", "numpy.fft")


def missing(module: str, name: str) -> NoReturn:
    """Raise that a module of the package has no such name, with what to write instead."""
    text = f"module {module!r} has no attribute {name!r}"
    instead = "" if name.startswith("_") else NAMES.get(name) or _place_of(name)
    if instead:
        text += f": {instead}"
        frame = sys._getframe(2)  # perhaps at `from module import name`, which shows no text
        if frame.f_lasti >= 0 and kind_at(frame.f_code, frame.f_lasti) is Kind.IMPORT_FROM:
            raise ImportError(f"cannot import name {name!r} from {module!r}: {instead}", name=name)
    raise AttributeError(text, name=name, obj=sys.modules.get(module))


def _place_of(name: str) -> str:
    """Where in the package something of this name is, a module or in a module."""
    package = __name__.partition(".")[0]
    if name.isidentifier() and find_spec(f"{package}.{name}") is not None:
        return f"write `import {package}.{name}` first"
    places = (f"{package}.{place}" for place in PLACES)
    found = next((p for p in places if name in dir(sys.modules.get(p))), "")
    return f"write {found}.{name}" if found else ""
