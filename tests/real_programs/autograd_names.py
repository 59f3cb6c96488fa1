"""What autograd calls otherwise than cadiff, or calls in another way.

Beside `cadiff.numpy` and `cadiff.scipy`, this is what a program of autograd's imports once it has
been moved; docs/coming_from/autograd.md has the same names in a table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cadiff
from cadiff import flatten as flatten
from cadiff import grad as grad
from cadiff import hessian as hessian
from cadiff import jacobian as jacobian
from cadiff import numpy as numpy
from cadiff import primitive as primitive
from cadiff import value_and_grad as value_and_grad
from cadiff.scipy.special import betainc as betainc
from cadiff.scipy.special import gammainc as gammainc
from cadiff.scipy.special import gammaincc as gammaincc
from cadiff.scipy.special import gammainccinv as gammainccinv
from cadiff.scipy.special import gammaln as gammaln

Function = Callable[..., Any]
DictBox, ArrayBox = dict, cadiff.Var


def elementwise_grad(f: Function, argnum: int = 0) -> Function:
    return cadiff.elementwise_grad(f, argnums=argnum)


def make_jvp_reversemode(f: Function) -> Function:
    return lambda x, *args: cadiff.linearize(lambda x: f(x, *args), x)[1].jvp


def defvjp(operation: Any, *rules: Function) -> None:
    operation.defvjp(*rules)


def gammaincln(a: Any, x: Any) -> Any:
    return numpy.log(gammainc(a, x))


def gammainccln(a: Any, x: Any) -> Any:
    return numpy.log(gammaincc(a, x))
