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
_CONTROL = "write Python's own if, for and while, or cadiff.scan, while_loop, cond"
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
_SOLVE = "write cadiff.scipy.integrate.solve_ivp, after `import cadiff.scipy.integrate`"
_HVP = "write cadiff.hvp(f)(x, v)"


def _by_name(texts: dict[str, str]) -> dict[str, str]:
    """Texts by the names that stand beside them."""
    return {name: text for text, names in texts.items() for name in names.split()}


# Names of the package.
NAMES = _by_name(
    {
        _COMPILE: "jit njit function script trace tracing",
        f"{_COMPILE}; {_PRIMITIVE.removeprefix('write ')}": "Function",
        _VAR: "tensor Tensor variable Variable Parameter param node Node Value",
        _ARRAY: "constant as_tensor from_numpy ndarray convert_to_tensor",
        _SYMBOLS: "SX MX DM Symbol symbols placeholder",
        _GRAD: "GradientTape backward gradients autodiff diff_tape",
        _PLAIN: "no_grad inference_mode enable_grad stop_recording",
        "write cadiff.stop_gradient(x), or cadiff.value(x)": "detach stop_grad",
        _CONTROL: "lax",
        f"{_CONTAINERS}; cadiff.register_container makes others known": "tree tree_util tree_map "
        "pytree register_pytree_node",
        _FLATTEN: "ravel_pytree flatten_util unflatten",
        _PRIMITIVE: "custom_jvp custom_vjp custom_gradient defvjp defjvp pure_callback",
        "write cadiff.root(f, x0)": "custom_root rootfinder implicit_root",
        "write cadiff.checkpoint(f)": "remat recompute_grad",
        "write cadiff.make_tape(f)(x), or cadiff.compile(f).to_text()": "make_jaxpr",
        "write cadiff.vmap(f), or program.batch(X)": "pmap pjit parallel",
        _PROCESSOR: "device device_put devices cuda block_until_ready",
        _FLOATS: "float32 float64 set_default_dtype enable_x64 config",
        "draw plain numbers with numpy.random, and compute with them": "random PRNGKey",
        "write cadiff.derivative(f, x)": "deriv diff D differentiate",
        "write cadiff.grad(f, holomorphic=True)": "holomorphic_grad",
        "write cadiff.grad(f, has_aux=True)": "grad_and_aux",
        "write cadiff.grad of a function that takes a dict": "multigrad_dict",
        "write cadiff.value_and_grad(f), whose results come in this order": "grad_and_value",
        "write cadiff.value_and_grad(f)": "value_and_gradient",
        _HVP: "hessian_vector_product make_hvp vhp hessp",
        "write cadiff.jacobian(f)(x)": "jac Jacobian batch_jacobian",
        "write cadiff.hessian(f)(x)": "hess Hessian hessians",
        "write cadiff.vjp(f, x)": "make_vjp vector_jacobian_product vJp",
        "write cadiff.jvp(f, (x,), (v,))": "make_jvp jacobian_vector_product jtimes "
        "ForwardAccumulator",
        "write cadiff.check_grads(f, args)": "gradcheck test_gradients",
        "write `with cadiff.nan_check():`": "detect_anomaly set_detect_anomaly debug_nans "
        "check_numerics",
        "cadiff.grad, jacobian, hessian, vjp and jvp are in cadiff itself": "autograd",
        "cadiff.grad, vjp, jvp, jacrev, jacfwd, hessian and vmap are in cadiff itself": "func",
        "write cadiff.register_container(cls, flatten, unflatten)": "register_pytree_node_class",
        _OPTIMIZE.format("minimize"): "minimize Opti nlpsol qpsol",
        _OPTIMIZE.format("least_squares"): "least_squares",
        _OPTIMIZE.format("curve_fit"): "curve_fit",
        _OPTIMIZE.format("adam"): "adam Adam AdamW optim optimizers",
        _OPTIMIZE.format("sgd"): "sgd SGD",
        _OPTIMIZE.format("lbfgs"): "lbfgs LBFGS",
        _SOLVE: "integrator odeint diffeqsolve",
        "write cadiff.stack or cadiff.concatenate": "vertcat",
        "write cadiff.numpy.hstack or cadiff.numpy.column_stack": "horzcat",
        "write x @ x": "sumsqr",
        "write cadiff.log(x)": "ln log_e",
        "write cadiff.where(condition, x, y)": "if_else ifelse IfElse",
        "write ((y - target) ** 2).mean()": "mse_loss MSELoss mse",
        "write cadiff.nn.cross_entropy(y, labels)": "CrossEntropyLoss NLLLoss nll_loss",
        _LAYER: "Linear Dense Sequential Module Layer Conv2d",
        "write cadiff.relu(x)": "ReLU",
        "write cadiff.nn.sigmoid(x)": "Sigmoid",
        "write cadiff.nn.softmax(x)": "Softmax",
        "write cadiff.tanh(x)": "Tanh",
        "write cadiff.nn.gelu(x)": "GELU",
        "write cadiff.softplus(x)": "Softplus",
        "write `import cadiff.numpy as np`": "jnp np anp",
        "write `import cadiff.interop.pytensor`, whose op(f) PyMC's models take": "pymc",
    }
)

# Names of numbers, which are called x.
NUMBERS = _by_name(
    {
        _ASSIGN: "at",
        _STOP: "detach detach_",
        _VALUE: "numpy eval read_value primal_value nominal_value",
        _RECORDED: "requires_grad requires_grad_ retain_grad watch",
        "x.parents are the numbers it was computed from": "is_leaf grad_fn",
        _GRAD: "gradient derivative deriv d backprop adjoint",
        _PROCESSOR: "cpu cuda to block_until_ready devices pin_memory is_cuda",
        _FLOATS: "double half float type",
        "write x.astype(int), which has no derivative": "long int",
        "write x.copy()": "clone contiguous",
        _IN_PLACE: "assign copy_ fill_ zero_ add_ sub_ mul_ div_ assign_add assign_sub set_value",
        "write x.transpose(axes)": "permute",
        "write x[None], or cadiff.numpy.expand_dims(x, axis)": "unsqueeze",
        "write cadiff.numpy.broadcast_to(x, shape)": "expand",
        "write cadiff.numpy.broadcast_to(x, other.shape)": "expand_as",
        "write x.size": "numel",
        "write x.ndim": "dim",
        "write x @ y": "mm bmm mv matmul",
        "write cadiff.numpy.linalg.norm(x)": "norm",
        "write x * y": "mul",
        "write x / y": "div",
        "write x + y": "add_n",
        "write x.T": "t",
        "write cadiff.numpy.append(x, y), or collect numbers in a list": "append",
        _TABLE: "loc iloc iat columns index ewm expanding groupby resample",
        "write np.lib.stride_tricks.sliding_window_view(x, n).mean(axis=-1)": "rolling",
        f"it is an array already; {_VALUE}": "values to_numpy",
        "write cadiff.custom(f, ...), which takes derivatives of your own": "register_hook",
    }
)

_DUAL = "a Dual has .primal and .tangent, which is computed along with it"
# Those that one kind of numbers has, by the name of the other.
DUALS = _by_name(
    {
        "write x.primal, or cadiff.value(x)": "value v",
        f"write x.tangent: {_DUAL}": "grad gv",
        f"there is nothing to sweep back over: {_DUAL}": "backward zero_grad",
        "write x.tangent": "eps epsilon partials partial",
    }
)
VARS = _by_name(
    {
        "write x.value, or cadiff.value(x)": "primal",
        "a Var has .grad, after y.backward(); cadiff.Dual has a tangent": "tangent dual",
    }
)

# Names of programs.
PROGRAMS = _by_name(
    {
        "write program.grad(x)": "gradient derivative backward",
        "write program.value_and_grad(x)": "value_and_gradient grad_and_value",
        "write program.jacobian(x)": "jac jacrev jacfwd",
        "write program.hessian(x)": "hess",
        "write program.hvp(x, v)": "hessp hessian_vector_product",
        "write program.sparse_hessian(x)": "hess_sparse",
        "write program.sparse_jacobian(x)": "jac_sparse",
        "write program.batch(X)": "vmap map mapaccum",
        "write program.to_c(...)": "generate",
        "write program.clear()": "cache_clear clear_cache",
        "write program.to_text()": "pretty_print code",
        "write program.to_dot()": "graph",
        "call it: program(x)": "run eval evaluate forward apply execute",
        "it is compiled by its first call": "lower compile trace jit",
        "write pickle.dump(program, file), or program.to_c(...)": "save load dump",
    }
)

_ARGNUMS = "the arguments to differentiate by are chosen with argnums={value!r}"
_POSITIONS = "the arguments to differentiate by are chosen by position, as in argnums=(0, 2)"
_NESTED = "derivatives can be differentiated again: cadiff.grad(cadiff.grad(f))"
_STATICS = "ints, bools, strings and None are no inputs anyway"
# Arguments by keyword, of functions that have none of that name.
KEYWORDS = _by_name(
    {
        _ARGNUMS: "argnum wrt arg argnos",
        _POSITIONS: "argnames argname variables inputs",
        _NESTED: "create_graph retain_graph persistent",
        "ints that are differentiated by are taken for floats": "allow_int",
        "what f does not use has a derivative of 0": "allow_unused strict",
        _STATICS: "static_argnums static_argnames",
        _PROCESSOR: "device",
        _FLOATS: "dtype",
        _RECORDED: "requires_grad",
    }
)
# Those that only have another name here.
RENAMED = _by_name(
    {
        "in_axes": "in_dims",
        "out_axes": "out_dims",
        "learning_rate": "lr step_size alpha",
        "epochs": "steps num_steps n_iter maxiter",
        "batch_size": "batchsize batch",
        "epsilon": "eps",
        "tol": "tolerance gtol xtol ftol",
        "jac": "jacobian gradient grad",
        "hess": "hessian",
        "optimize": "optimise",
        "progress": "verbose show_progress",
    }
)

_ERRORS = "write result.standard_errors(), the roots of the diagonal of result.covariance()"
# Names of results of optimisers.
RESULTS = _by_name(
    {
        _ERRORS: "errors errs standard_error stderr std se bse perr sigma uncertainty "
        "uncertainties",
        "write result.covariance()": "cov pcov cov_x cov_params covar",
        "write result.x": "params parameters popt solution argmin optimum best",
        "write result.fun": "value fval fmin minimum loss f residuals",
        "write result.nit": "iterations niter n_iter",
        "write result.success": "converged is_converged ok",
        "write result.jac": "grad gradient jacobian",
        "write result.hessian()": "hess H",
        "write numpy.linalg.inv(result.hessian(flat=True)), or result.covariance()": "hess_inv",
        "write print(result), and result.standard_errors()": "summary report",
        "write callback=cadiff.optimize.History(), which result.history is then": "trace",
    }
)

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
    "derivative": "derivative(f, x)",
    "jvp": "out, tangent = jvp(f, (x,), (v,))",
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
    for path in (f"{package}.{name}", f"{package}.interop.{name}"):
        if name.isidentifier() and find_spec(path) is not None:
            return f"write `import {path}` first"
    places = (f"{package}.{place}" for place in PLACES)
    found = next((p for p in places if name in dir(sys.modules.get(p))), "")
    return f"write {found}.{name}" if found else ""
