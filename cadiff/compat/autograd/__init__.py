"""autograd's names over cadiff: `from cadiff.compat.autograd import grad, numpy as np`.

`install()` has `import autograd` find this package, for others that import autograd themselves.
`docs/guide/autograd.md` lists what differs.

>>> import cadiff.compat.autograd.numpy as np
>>> from cadiff.compat.autograd import elementwise_grad
>>> elementwise_grad(np.tanh)(np.zeros(2))
array([1., 1.])
"""

from .. import aliases as _aliases
from . import core as _core
from . import test_util as _test_util
from .builtins import *  # noqa: F403
from .core import primitive as primitive
from .differential_operators import *  # noqa: F403

_MODULES = {
    "tracer": "Box getval isbox notrace_primitive notrace_primitives primitive register_notrace",
    "extend": "Box SparseObject VSpace def_linear defjvp defjvp_argnum defjvp_argnums defvjp "
    "defvjp_argnum defvjp_argnums notrace_primitive primitive register_notrace vspace",
}
_aliases.have_names(_core, __name__, _MODULES)
_aliases.have_names(_test_util, __name__, {"util": "func quick_grad_check subval subvals"})
_aliases.refuse_below(
    *(__name__, "autograd"),
    lambda name: f"autograd.{name} is not in {__name__}: see docs/guide/autograd.md",
)


def install() -> None:
    """Have `import autograd`, and what is below it, find this package from now on."""
    _aliases.install("autograd", __name__)
