"""SciPy's names: cadiff.scipy's, beside the convolution that autograd has in `signal`."""

from ... import aliases as _aliases

_aliases.have_below(__name__, "cadiff.scipy")
__getattr__ = _aliases.names_below(__name__)
