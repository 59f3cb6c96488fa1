"""How NumPy's own arrays are indexed: the function that Python finds in their type."""

import ctypes

import numpy as np

_MP_SUBSCRIPT = 5  # Py_mp_subscript, in typeslots.h of Python

_slot_of = ctypes.pythonapi.PyType_GetSlot
_slot_of.restype = ctypes.c_void_p
_slot_of.argtypes = ctypes.py_object, ctypes.c_int


def subscript_of(kind: type = np.ndarray) -> int | None:
    """The address of the function by which instances of a type are indexed."""
    address: int | None = _slot_of(kind, _MP_SUBSCRIPT)
    return address


NUMPYS = subscript_of()  # while nothing is recorded
