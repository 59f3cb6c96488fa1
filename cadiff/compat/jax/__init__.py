"""JAX's names over cadiff: `import cadiff.compat.jax as jax`, for programs on the processor.

Floats are float64, as with JAX's `jax_enable_x64`. `install()` has `import jax` find this package,
for others that import JAX themselves. `docs/guide/jax.md` lists what there is and what differs.

>>> import cadiff.compat.jax as jax, cadiff.compat.jax.numpy as jnp
>>> jax.jit(jax.grad(lambda x: jnp.sum(jnp.tanh(x) ** 2)))(jnp.zeros(2))
array([0., 0.])
"""

import contextlib as _contextlib
import sys as _sys
from types import SimpleNamespace as _Namespace
from typing import Any as _Any

import cadiff as _cadiff

from .. import aliases as _aliases
from . import absent as _absent
from . import flatten_util as flatten_util
from . import lax as lax
from . import nn as nn
from . import numpy as numpy
from . import random as random
from . import scipy as scipy
from . import tree as tree
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


class _Nothing(_contextlib.ContextDecorator):
    """A context in which nothing is different."""

    def __init__(self, *_: _Any, **__: _Any) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


enable_x64 = ensure_compile_time_eval = disable_jit = named_scope = debug_nans = _Nothing
default_matmul_precision = default_device = transfer_guard = checking_leaks = _Nothing


def _print(fmt: str, *args: _Any, ordered: bool = False, **kwargs: _Any) -> None:
    """Print values, formatted; a program in which this is called runs its function as it is."""
    print(fmt.format(*_cadiff.value(args), **_cadiff.value(kwargs)))


def _closure_converted(fun: _Any, *_: _Any) -> tuple[_Any, list[_Any]]:
    """A function as it is: numbers that it closes over are differentiated by."""
    return fun, []


_MODULES: dict[str, dict[str, _Any]] = _absent.MODULES | {
    "core": {"Tracer": _Tracer},
    "custom_derivatives": {
        "custom_jvp": custom_jvp,
        "custom_vjp": custom_vjp,
        "closure_convert": _closure_converted,
    },
    "debug": {"print": _print},
    "dtypes": {
        "issubdtype": numpy.issubdtype,
        "result_type": numpy.result_type,
        "canonicalize_dtype": numpy.dtype,
        "prng_key": type("prng_key", (numpy.generic,), {}),
    },
    "typing": {"ArrayLike": _Any, "DTypeLike": _Any},
    "_src": {"__path__": []},
}
_aliases.have_modules(
    _sys.modules[__name__],
    {k: v | {"__getattr__": _absent.missing(f"{__name__}.{k}")} for k, v in _MODULES.items()},
)


# Arrays are there, on the processor.
globals().update(
    {
        "block_until_ready": lambda x: x,
        "named_call": lambda fun, **_: fun,
        "shard_map": lambda fun, **_: fun,
        "closure_convert": _closure_converted,
        "device_put": lambda x, device=None, **_: tree_map(numpy.asarray, x),
        "device_get": _cadiff.value,
        "devices": lambda backend=None: [_CPU],
        "local_devices": lambda backend=None: [_CPU],
        "device_count": lambda backend=None: 1,
        "local_device_count": lambda backend=None: 1,
        "default_backend": lambda: "cpu",
        "clear_caches": lambda: None,
    }
)
_aliases.have_below(f"{__name__}._src", __name__)


def install() -> None:
    """Have `import jax`, and what is below it, find this package from now on."""
    _aliases.install("jax", __name__)
