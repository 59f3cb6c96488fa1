"""`jax.scipy`: cadiff.scipy's names, beside what JAX has otherwise."""

from ... import aliases as _aliases

_aliases.have_below(__name__, "cadiff.scipy")
__getattr__ = _aliases.names_below(__name__)
