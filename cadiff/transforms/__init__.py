"""Gradient functions: what becomes of a user's function.

Reverse mode runs the function once on Vars (`binding.Recording`) and sweeps over what was
recorded; forward mode runs it on Duals of a tag of its own. These modules arrange arguments and
results; they never see a buffer, and every derivative comes from the core.
"""

from ._checkpoints import checkpoint, checkpoint_scan
from ._flat import flatten, register_container
from ._forward import jvp
from ._implicit import fixed_point, root
from ._jacobians import jacfwd, jacobian, jacrev
from ._linearize import LinearMap, linearize
from ._points import check_derivative, derivative, gradient
from ._reverse import elementwise_grad, grad, value_and_grad, vjp
from ._second import hessian, hvp

__all__ = [
    "LinearMap",
    "check_derivative",
    "checkpoint",
    "checkpoint_scan",
    "derivative",
    "elementwise_grad",
    "fixed_point",
    "flatten",
    "grad",
    "gradient",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "linearize",
    "register_container",
    "root",
    "value_and_grad",
    "vjp",
]
