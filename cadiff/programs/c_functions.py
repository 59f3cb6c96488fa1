"""Compiled programs as functions of C: their addresses, for others who call functions of C.

This module does not know how a recording is found.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from .. import binding
from .recorded import Recorded

WHAT = ("value", "value_and_grad")

_DOUBLES = ctypes.POINTER(ctypes.c_double)
_ARGUMENTS: tuple[Any, ...] = (ctypes.c_size_t, _DOUBLES, _DOUBLES, _DOUBLES, ctypes.c_void_p)
_IN_C = "int (*)(size_t, const double *, double *, double *, void *)"

# The names that SciPy has for functions: which of ours each is, and its type in ctypes.
_SIGNATURES: dict[str, tuple[str, Any]] = {
    "double (int, double *, void *)": (
        "integrand",
        ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int, _DOUBLES, ctypes.c_void_p),
    ),
    "int (double *, intptr_t, double *, void *)": (
        "filter",
        ctypes.CFUNCTYPE(ctypes.c_int, _DOUBLES, ctypes.c_ssize_t, _DOUBLES, ctypes.c_void_p),
    ),
}


class CFunction:
    """A compiled program as a function of C, which runs without Python, in any thread.

    Made by `Program.c_function`. All that is had of it keeps it alive, but for the two numbers
    `address` and `data`: who hands these to others keeps it as long as they may call.

    Attributes
    ----------
    address : int
        Of the function ``int f(size_t n, const double *x, double *value, double *gradient, void
        *data)``, which is the same for all programs.
    data : int
        What to pass last: where the program is.
    n, n_values, n_gradient : int
        How many numbers `x`, `value` and `gradient` have.
    """

    def __init__(self, recorded: Recorded, what: str, name: str) -> None:
        if what != "value" and not recorded.is_number:
            raise ValueError(
                f'c_function: "{what}" is of one number, but {name} returns '
                f'{recorded.graph.n_outputs}: write what="value"; to_c has "jacobian" and "vjp"'
            )
        codes = [recorded.code("value")]
        if what != "value":
            codes.append(recorded.code("gradient", recorded.ranges))
        for code in codes:
            if code.calls_python:
                named = dict.fromkeys(step.name for step in code.python_steps)
                raise ValueError(
                    f"{name} calls {', '.join(named)}, in Python: leave it out of what is "
                    "compiled, and pass what it gives as an argument"
                )
        self._callback = binding.Callback(codes[0], codes[-1] if len(codes) > 1 else None)
        self._name = name
        self.n = recorded.graph.n_inputs
        self.n_values = recorded.graph.n_outputs
        self.n_gradient = codes[-1].n_results - self.n_values if len(codes) > 1 else 0
        self.address: int = self._callback.addresses["any"]
        self.data: int = self._callback.data

    def __repr__(self) -> str:
        return (
            f"<cadiff.CFunction of {self._name}: n = {self.n}, n_values = {self.n_values}, "
            f"n_gradient = {self.n_gradient}>"
        )

    def __reduce__(self) -> Any:
        raise TypeError(
            "an address is of this process alone: pickle the program, and ask it for c_function"
        )

    @property
    def ctypes(self) -> Callable[..., int]:
        """The function for ctypes, which waits for no GIL while it runs."""
        function = ctypes.CFUNCTYPE(ctypes.c_int, *_ARGUMENTS)(self.address)
        function.owner = self  # type: ignore[attr-defined]
        return function

    @property
    def cffi(self) -> Any:
        """The function for cffi: a pointer, which is called with pointers to doubles."""
        import cffi

        ffi = cffi.FFI()
        return ffi.gc(ffi.cast(_IN_C, self.address), lambda _, owner=self: None)

    def low_level_callable(self, signature: str = "double (int, double *, void *)") -> Any:
        """The value as a `scipy.LowLevelCallable`.

        Parameters
        ----------
        signature : str
            Unless told, that of `scipy.integrate.quad` and `nquad`: x, and further arguments, are
            the numbers of the program. ``int (double *, intptr_t, double *, void *)`` is that of
            `scipy.ndimage.generic_filter`.

        Returns
        -------
        scipy.LowLevelCallable
            Where a call has no value, SciPy gets nan from an integrand, and a filter raises.
        """
        from scipy import LowLevelCallable

        if signature not in _SIGNATURES:
            raise ValueError(f"signature is one of {list(_SIGNATURES)}, not {signature!r}")
        if self.n_values != 1:
            raise ValueError(f"SciPy takes one value, but {self._name} returns {self.n_values}")
        name, kind = _SIGNATURES[signature]
        function = kind(self._callback.addresses[name])
        function.owner = self
        return LowLevelCallable(function, ctypes.c_void_p(self.data), signature)

    def numba(self) -> Callable[..., int]:
        """The function for code that numba compiles: ``f(x, value, gradient)``, of arrays.

        Arrays are contiguous vectors of float64, into which results are written; of a function
        without gradient, that may be empty. Their lengths are checked: ValueError tells. The
        answer is the status.
        """
        import numba

        call, data = self.ctypes, self.data
        n, n_values, n_gradient = self.n, self.n_values, self.n_gradient
        wrong = (
            f"{self._name}: x, value and gradient are arrays of {n}, {n_values} and {n_gradient} "
            "numbers, not of"
        )

        @numba.njit(nogil=True)
        def function(x, value, gradient):  # type: ignore[no-untyped-def]
            if x.size != n or value.size != n_values or gradient.size != n_gradient:
                raise ValueError(wrong, x.size, value.size, gradient.size)
            return call(n, x.ctypes, value.ctypes, gradient.ctypes, data)

        vector = numba.float64[::1]
        constant = numba.types.Array(numba.float64, 1, "C", readonly=True)
        function.compile((constant, vector, vector))
        function.disable_compile()
        compiled: Callable[..., int] = function
        return compiled
