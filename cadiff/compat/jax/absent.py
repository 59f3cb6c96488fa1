"""Names of JAX's that are not there: what to write in their place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_WAYS = {
    "write jax.vmap: all rows are computed on this machine": (
        "pmap xmap make_mesh lax.psum lax.pmean lax.pmax lax.all_gather "
        "lax.ppermute lax.axis_index lax.all_to_all lax.pmin "
        "experimental.mesh_utils experimental.multihost_utils experimental.pjit"
    ),
    "write cadiff.make_tape(f)(*args), or cadiff.compile(f).to_text()": "make_jaxpr",
    "write Python that calls what it wants: functions are run as they are": (
        "pure_callback experimental.io_callback debug.callback debug.breakpoint "
        "experimental.checkify experimental.host_callback"
    ),
    "write cadiff.scipy.sparse, whose matrices may be of numbers with derivatives": (
        "experimental.sparse"
    ),
    "write jax.shard_map": "experimental.shard_map",
    "write jax.custom_jvp or cadiff.primitive: there are no primitives of JAX's, nor jaxprs": (
        "extend interpreters core.Primitive core.Jaxpr core.eval_jaxpr"
    ),
    "write x[index], or x.at[index].get(mode=...)": "lax.gather",
    "write x.at[index].set(y), or add, multiply, min, max": (
        "lax.scatter lax.scatter_add lax.scatter_mul lax.scatter_min lax.scatter_max"
    ),
    "write jnp.linalg, or jax.scipy.linalg.solve_triangular": "lax.linalg",
    "write register_pytree_node": (
        "tree_util.register_pytree_with_keys tree_util.register_pytree_with_keys_class "
        "tree_util.register_static"
    ),
    "write jnp.pad": "lax.pad",
    "write a loop over windows, or cadiff.scipy.signal.convolve": (
        "lax.conv lax.conv_general_dilated lax.conv_with_general_padding lax.conv_transpose "
        "lax.reduce_window"
    ),
    "write x.view(dtype) of plain arrays": "lax.bitcast_convert_type",
    "draw it with numpy.random, outside of programs": (
        "random.gamma random.loggamma random.beta random.dirichlet random.chisquare random.t "
        "random.pareto random.rayleigh random.lognormal random.weibull_min random.ball random.f "
        "random.binomial random.multinomial random.orthogonal random.poisson random.wald "
        "random.geometric random.maxwell random.triangular"
    ),
    "write cadiff.interop.jax.function, which takes a function to JAX itself": "export dlpack ffi",
}
_INSTEAD = {name: way for way, names in _WAYS.items() for name in names.split()}


def advice(name: str) -> str:
    """What to write in place of a name below jax."""
    way = _INSTEAD.get(name, "docs/guide/jax.md has a table of what is there")
    return f"jax.{name} is not in cadiff.compat.jax: {way}"


def missing(module: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module, which says what to write in place of a name."""
    below = module.partition(".compat.jax")[2].lstrip(".")

    def refuse(name: str) -> Any:
        raise AttributeError(advice(f"{below}.{name}".lstrip(".")), name=name)

    return refuse


def _classes(names: str, *bases: type) -> dict[str, Any]:
    made = {"__init__": lambda self, *_, **__: None}
    return {name: type(name, bases, made) for name in names.split()}


# Classes that programs ask for by name. All places are the processor; no error is raised here.
MODULES = {
    "sharding": _classes("Sharding NamedSharding PartitionSpec Mesh SingleDeviceSharding"),
    "errors": _classes(
        "ConcretizationTypeError TracerArrayConversionError TracerBoolConversionError "
        "TracerIntegerConversionError UnexpectedTracerError JaxRuntimeError",
        TypeError,
    ),
}
