"""JAX's names over cadiff: `import cadiff.compat.jax as jax`, for programs on the processor.

Floats are float64, as with JAX's `jax_enable_x64`. `install()` has `import jax` find this package,
for others that import JAX themselves. `docs/guide/jax.md` lists what there is and what differs.

>>> import cadiff.compat.jax as jax, cadiff.compat.jax.numpy as jnp
>>> jax.jit(jax.grad(lambda x: jnp.sum(jnp.tanh(x) ** 2)))(jnp.zeros(2))
array([0., 0.])
"""

import contextlib as _contextlib
import sys as _sys
from functools import partial as _partial
from functools import wraps as _wraps
from types import SimpleNamespace as _Namespace
from typing import Any as _Any

import cadiff as _cadiff

from .. import aliases as _aliases
from .. import images as _images
from .. import optimizers as _optimizers
from ..places import limits as _limits
from . import arrays as _arrays
from . import lax, nn, numpy, random, scipy, tree_util  # noqa: F401
from .arrays import Array, Device, ShapeDtypeStruct  # noqa: F401
from .transforms import *  # noqa: F403

__version__ = "0.10.2"  # the release whose names these are
tree_map, typeof = tree_util.tree_map, _arrays.struct_of

# A context in which nothing is different, and a decorator that changes nothing.
_NOTHING = type("", (_contextlib.nullcontext,), {"__call__": lambda self, function: function})()
_nothing: _Any = lambda *_, **__: _NOTHING  # noqa: E731
enable_x64 = ensure_compile_time_eval = disable_jit = named_scope = debug_nans = _nothing
default_matmul_precision = default_device = transfer_guard = checking_leaks = _nothing

# What is there without any work: arrays are, on the processor.
globals().update(
    dict.fromkeys(("named_call", "shard_map"), lambda fun, **_: fun)
    | dict.fromkeys(("devices", "local_devices"), lambda backend=None: [_arrays.CPU])
    | dict.fromkeys(("device_count", "local_device_count"), lambda backend=None: 1)
    | {
        "block_until_ready": lambda x: x,
        "closure_convert": lambda fun, *_: (fun, []),  # numbers that fun closes over count
        "device_put": lambda x, device=None, **_: tree_map(numpy.asarray, x),
        "device_get": _cadiff.value,
        "default_backend": lambda: "cpu",
        "clear_caches": lambda: None,
    }
)


def _batching(fun: _Any) -> _Any:
    """Rows are computed as one is: rules for many, which `def_vmap` states, are not needed."""
    made: _Any = _wraps(fun)(lambda *args: fun(*args))
    made.def_vmap = lambda rule: rule
    return made


def _classes(names: str, *bases: type) -> dict[str, type]:
    made = {"__init__": lambda self, *_, **__: None}
    return {name: type(name, bases, made) for name in names.split()}


_own = _sys.modules[__name__]
_MODULES: dict[str, dict[str, _Any]] = {
    "config": {"update": lambda name, value: None, "jax_enable_x64": True, "x64_enabled": True},
    "core": {"Tracer": _arrays.Tracer, "ShapedArray": ShapeDtypeStruct},
    "custom_batching": dict.fromkeys(("custom_vmap", "sequential_vmap"), _batching),
    "custom_derivatives": _aliases.named("custom_jvp custom_vjp closure_convert", _own),
    # A program in which this is called runs its function as it is.
    "debug": {
        "print": lambda fmt, *args, ordered=False, **kwargs: print(
            fmt.format(*_cadiff.value(args), **_cadiff.value(kwargs))
        )
    },
    "dtypes": _aliases.named("issubdtype result_type canonicalize_dtype=dtype", numpy)
    | _classes("prng_key", vars(numpy)["generic"]),
    # Programs ask for these by name: all places are the processor, and no such error is raised.
    "errors": _classes(
        "ConcretizationTypeError TracerArrayConversionError TracerBoolConversionError "
        "TracerIntegerConversionError UnexpectedTracerError JaxRuntimeError",
        TypeError,
    ),
    "dlpack": {"from_dlpack": vars(numpy)["asarray"], "to_dlpack": lambda x: x},
    "example_libraries": {},
    "example_libraries.optimizers": _aliases.named(
        "sgd momentum nesterov adagrad rmsprop adam constant=make_schedule make_schedule "
        "exponential_decay l2_norm clip_grads",
        _optimizers,
    ),
    "experimental": {"enable_x64": _nothing, "disable_x64": _nothing},
    "experimental.ode": {"odeint": scipy.odeint},
    "experimental.sparse": {},
    "flatten_util": {"ravel_pytree": tree_util.ravel_pytree},
    "image": _aliases.named("resize scale_and_translate ResizeMethod", _images),
    # Tangents of custom_jvp are numbers, no symbols for zeros.
    "interpreters": {},
    "interpreters.ad": _classes("Zero")
    | {"instantiate_zeros": lambda x: x, "zeros_like_aval": vars(numpy)["zeros_like"]},
    "lib": {"xla_bridge": _Namespace(get_backend=lambda: _arrays.CPU)},
    "ops": {
        "segment_sum": _arrays.segments("add", lambda dtype: 0),
        "segment_prod": _arrays.segments("multiply", lambda dtype: 1),
        "segment_max": _arrays.segments("max", lambda dtype: _limits(dtype)[0]),
        "segment_min": _arrays.segments("min", lambda dtype: _limits(dtype)[1]),
    },
    "sharding": _classes("Sharding NamedSharding PartitionSpec Mesh SingleDeviceSharding"),
    "test_util": {"check_grads": _cadiff.check_grads},
    "tree": {k[5:]: function for k, function in vars(tree_util).items() if k[:5] == "tree_"},
    "typing": {"ArrayLike": _Any, "DTypeLike": _Any},
    "util": {
        "safe_map": lambda f, *rows: [f(*row) for row in zip(*rows, strict=True)],
        "safe_zip": lambda *rows: [*zip(*rows, strict=True)],
        "unzip2": lambda pairs: tuple(zip(*pairs, strict=True)) or ((), ()),
    },
    "_src": {"__path__": []},
}
_aliases.have_modules(__name__, _MODULES)
_aliases.have_below(f"{__name__}._src", __name__)
vars(_own)["config"].config = vars(_own)["config"]  # a module, or, as it was first, of one

# What to write in place of names that are not there.
_WAYS = {
    "write jax.vmap: all rows are computed on this machine": (
        "pmap xmap make_mesh psum pmean pmax pmin all_gather ppermute axis_index all_to_all "
        "mesh_utils multihost_utils pjit"
    ),
    "write cadiff.make_tape(f)(*args), or cadiff.compile(f).to_text()": "make_jaxpr",
    "write Python that calls what it wants: functions are run as they are": (
        "pure_callback io_callback callback breakpoint checkify host_callback"
    ),
    "write cadiff.scipy.sparse, whose matrices may be of numbers with derivatives": "sparse BCOO",
    "write jax.custom_jvp or cadiff.primitive": "extend interpreters Primitive Jaxpr eval_jaxpr",
    "write x[index], or x.at[index].get(mode=...)": "gather",
    "write x.at[k].set(y) or its like": "scatter scatter_add scatter_mul scatter_min scatter_max",
    "write x.view(dtype) of plain arrays": "bitcast_convert_type",
    "draw it with numpy.random, outside of programs": (
        "ball f binomial multinomial orthogonal wald double_sided_maxwell generalized_normal"
    ),
    "write cadiff.interop.jax.function, which takes a function to JAX itself": "export ffi",
}
_INSTEAD = {name: way for way, names in _WAYS.items() for name in names.split()}


def _advice(name: str) -> str:
    way = _INSTEAD.get(name.split(".")[-1], "docs/guide/jax.md has a table of what is there")
    return f"jax.{name} is not in cadiff.compat.jax: {way}"


def _missing(module: str, name: str) -> _Any:
    raise AttributeError(_advice(f"{module}.{name}".lstrip(".")), name=name)


_aliases.refuse_below(__name__, "jax", _advice)
for _name in ("", "lax", "nn", "random", "tree_util", *_MODULES):
    _module = _sys.modules[f"{__name__}.{_name}".rstrip(".")]
    vars(_module)["__getattr__"] = _partial(_missing, _name)


def install() -> None:
    """Have `import jax`, and what is below it, find this package from now on."""
    _aliases.install("jax", __name__)
