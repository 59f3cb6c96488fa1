"""autograd's names over cadiff: `from cadiff.compat.autograd import grad, numpy as np`.

`install()` has `import autograd` find this package, for others that import autograd themselves.
`docs/guide/autograd.md` lists what differs.

>>> import cadiff.compat.autograd.numpy as np
>>> from cadiff.compat.autograd import elementwise_grad
>>> elementwise_grad(np.tanh)(np.zeros(2))
array([1., 1.])
"""

from .. import aliases as _aliases
from .builtins import *  # noqa: F403
from .core import primitive as primitive
from .differential_operators import *  # noqa: F403


def install() -> None:
    """Have `import autograd`, and what is below it, find this package from now on."""
    _aliases.install("autograd", __name__)
