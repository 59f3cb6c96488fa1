"""JAX's names over cadiff: `import cadiff.compat.jax as jax`, for programs on the processor.

Floats are float64, as with JAX's `jax_enable_x64`. `install()` has `import jax` find this package,
for others that import JAX themselves. `docs/guide/jax.md` lists what there is and what differs.

>>> import cadiff.compat.jax as jax, cadiff.compat.jax.numpy as jnp
>>> jax.jit(jax.grad(lambda x: jnp.sum(jnp.tanh(x) ** 2)))(jnp.zeros(2))
array([0., 0.])
"""

import contextlib as _contextlib
from types import SimpleNamespace as _Namespace
from typing import Any as _Any

import cadiff as _cadiff

from .. import aliases as _aliases
from . import absent as _absent
from . import lax as lax
from . import nn as nn
from . import numpy as numpy
from . import random as random
from . import scipy as scipy
from . import tree_util as tree_util
from .arrays import CPU as _CPU
from .arrays import Array as Array
from .arrays import Device as Device
from .arrays import ShapeDtypeStruct as ShapeDtypeStruct
from .arrays import Tracer as _Tracer
from .arrays import struct_of as typeof  # noqa: F401
from .custom import custom_jvp as custom_jvp
from .custom import custom_vjp as custom_vjp
from .transforms import *  # noqa: F403

__getattr__ = _absent.missing(__name__)
__version__ = "0.10.2"  # the release whose names these are
tree_map = tree_util.tree_map

# Floats are float64, and there is nothing to set.
config = _Namespace(update=lambda name, value: None, jax_enable_x64=True, x64_enabled=True)


class _Nothing(_contextlib.nullcontext[None], _contextlib.ContextDecorator):
    """A context in which nothing is different."""

    def __init__(self, *_: _Any, **__: _Any) -> None:
        super().__init__()


enable_x64 = ensure_compile_time_eval = disable_jit = named_scope = debug_nans = _Nothing
default_matmul_precision = default_device = transfer_guard = checking_leaks = _Nothing


def _print(fmt: str, *args: _Any, ordered: bool = False, **kwargs: _Any) -> None:
    """Print values, formatted; a program in which this is called runs its function as it is."""
    print(fmt.format(*_cadiff.value(args), **_cadiff.value(kwargs)))


# What is there without any work: arrays are, on the processor.
globals().update(
    dict.fromkeys(("named_call", "shard_map"), lambda fun, **_: fun)
    | dict.fromkeys(("devices", "local_devices"), lambda backend=None: [_CPU])
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

_TREES = vars(tree_util).items()
_numpy: _Any = numpy
_MODULES: dict[str, dict[str, _Any]] = _absent.MODULES | {
    "core": {"Tracer": _Tracer},
    "custom_derivatives": {
        name: globals()[name] for name in ("custom_jvp", "custom_vjp", "closure_convert")
    },
    "debug": {"print": _print},
    "dtypes": {
        "issubdtype": _numpy.issubdtype,
        "result_type": _numpy.result_type,
        "canonicalize_dtype": _numpy.dtype,
        "prng_key": type("prng_key", (_numpy.generic,), {}),
    },
    "experimental": {"enable_x64": _Nothing, "disable_x64": _Nothing},
    "experimental.ode": {"odeint": scipy.odeint},
    "flatten_util": {"ravel_pytree": tree_util.ravel_pytree},
    "tree": {name[5:]: function for name, function in _TREES if name.startswith("tree_")},
    "typing": {"ArrayLike": _Any, "DTypeLike": _Any},
    "_src": {"__path__": []},
}
_aliases.have_modules(
    __name__,
    {k: v | {"__getattr__": _absent.missing(f"{__name__}.{k}")} for k, v in _MODULES.items()},
)
_aliases.have_below(f"{__name__}._src", __name__)
_aliases.refuse_below(__name__, "jax", _absent.advice)


def install() -> None:
    """Have `import jax`, and what is below it, find this package from now on."""
    _aliases.install("jax", __name__)
