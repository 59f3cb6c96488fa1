"""What atheris fuzzes of the binding: `python -m tests.fuzz --target binding`.

Bytes change some bytes of a recorded function, with a checksum that is right again: it is refused,
or runs. Or they choose what is done to an array that carries derivatives, with arguments that make
no sense: what has a value has the one that NumPy gives, and what is wrong ends in an exception;
but in none by which Python says that C has answered wrongly.
"""

from __future__ import annotations

import operator
import sys
import warnings
from collections.abc import Callable
from typing import Any

import atheris
import numpy as np

with atheris.instrument_imports(include=["cadiff"]):
    import cadiff

from ..programs.test_program_files import HEADER, HOSTILE, bytes_of, is_answered, sealed

MOST_STEPS = 8
MOST_WORD = 100  # of a shape or a stride: no function over few numbers is to run for hours
ENDLESS = 1 << 20

BODIES = [bytes_of(f, *args)[:-4] for f, *args in HOSTILE.values()]


# --- bytes of functions --------------------------------------------------------------------------


def words_of(body: bytes) -> Any:
    """The part of shapes and strides."""
    n_text, _, _, _, n_outputs, n_guards, n_rows, n_words = HEADER.unpack_from(body)[1:9]
    begin = HEADER.size + n_text + 4 * n_outputs + 13 * n_guards + 16 * n_rows
    return np.frombuffer(body, "<i8", n_words, begin)


def run_damaged(chance: Any) -> None:
    body = bytearray(BODIES[chance.ConsumeIntInRange(0, len(BODIES) - 1)])
    for _ in range(chance.ConsumeIntInRange(1, 6)):
        k = chance.ConsumeIntInRange(8, len(body) - 1)
        body[k] = chance.ConsumeIntInRange(0, 255)
    try:
        is_small = bool((np.abs(words_of(bytes(body))) <= MOST_WORD).all())
    except (ValueError, OverflowError):  # it is of another length, which is refused
        is_small = True
    if is_small:
        is_answered(sealed(bytes(body)))


# --- calls ---------------------------------------------------------------------------------------

START = np.array([[0.5, -1.25, 2.0], [3.0, 0.25, -0.75]])
NUMBERS: list[Any] = [
    *(0, 1, -1, 2, -3, 7, 1 << 40, -(1 << 63), 0.5, -2.5, np.nan, np.inf, 1e300, True, None),
    *("x", b"x", 1j, np.int8(1), np.float32(0.1), np.bool_(True), [], [0], [[1.0]], (), {}),
    *(np.array([0, 1]), np.array([1, -1, 0]), np.array([True, False]), np.array([[1.5], [2.5]])),
    *(np.zeros((0, 3)), np.array("x"), np.array([None]), np.arange(6).reshape(2, 3), START > 0.0),
]
UNARY = [np.exp, np.log, np.sqrt, np.tanh, np.negative, np.abs, np.sign, np.floor, np.isnan]
BINARY = [np.add, np.multiply, np.divide, np.power, np.arctan2, np.maximum, np.floor_divide]
BINARY += [np.remainder, np.hypot, np.less, np.logaddexp, np.matmul, np.copysign, np.subtract]
SHAPING: dict[str, Callable[[Any, Any, Any], Any]] = {
    "reshape": lambda x, a, b: np.reshape(x, a),
    "transpose": lambda x, a, b: np.transpose(x, a),
    "sum": lambda x, a, b: np.sum(x, axis=a, keepdims=b),
    "cumsum": lambda x, a, b: np.cumsum(x, axis=a),
    "take": lambda x, a, b: np.take(x, a, axis=b),
    "concatenate": lambda x, a, b: np.concatenate([x, a], axis=b),
    "roll": lambda x, a, b: np.roll(x, a, b),
    "clip": lambda x, a, b: np.clip(x, a, b),
    "where": lambda x, a, b: np.where(a, x, b),
    "max": lambda x, a, b: np.max(x, axis=a, initial=b),
    "broadcast_to": lambda x, a, b: np.broadcast_to(x, a),
    "moveaxis": lambda x, a, b: np.moveaxis(x, a, b),
    "linspace": lambda x, a, b: np.linspace(x, a, b),
    "astype": lambda x, a, b: x.astype(a),
    "tensordot": lambda x, a, b: np.tensordot(x, a, b),
    "stack": lambda x, a, b: np.stack([x, a], axis=b),
}
# BLAS may take 0 times nan for 0, and does so by its sizes.
OF_BLAS = ("matmul", "tensordot")
IN_PLACE = [operator.iadd, operator.imul, operator.isub, operator.itruediv, operator.ipow]


def any_number(chance: Any) -> Any:
    return chance.PickValueInList(NUMBERS)


def any_index(chance: Any) -> Any:
    choice = chance.ConsumeIntInRange(0, 5)
    if choice == 0:
        return slice(*(chance.PickValueInList([None, 0, 1, -1, 2, -2, 9, 0.5]) for _ in range(3)))
    if choice == 1:
        return tuple(any_index(chance) for _ in range(chance.ConsumeIntInRange(0, 3)))
    return Ellipsis if choice == 2 else any_number(chance)


def any_call(chance: Any) -> tuple[str, Callable[[Any], Any]]:
    """What is done to an array, in words and to be done; it may be the array that is changed."""
    choice = chance.ConsumeIntInRange(0, 7)
    a, b = any_number(chance), any_number(chance)
    if choice == 0:
        index = any_index(chance)
        return f"x[{index!r}]", lambda x: x[index]
    if choice == 1:
        index = any_index(chance)
        return f"x[{index!r}] = {a!r}", lambda x: changed(operator.setitem, x, index, a)
    if choice == 2:
        unary = chance.PickValueInList(UNARY)
        return f"{unary.__name__}(x)", unary
    if choice == 3:
        binary = chance.PickValueInList(BINARY)
        if b is None:
            return f"{binary.__name__}({a!r}, x)", lambda x: binary(a, x)
        return f"{binary.__name__}(x, {a!r})", lambda x: binary(x, a)
    if choice == 4:
        binary = chance.PickValueInList(BINARY)
        name = chance.PickValueInList(["reduce", "accumulate", "outer"])
        return f"{binary.__name__}.{name}(x, {a!r})", lambda x: getattr(binary, name)(x, a)
    if choice == 5:
        in_place = chance.PickValueInList(IN_PLACE)
        return f"{in_place.__name__}(x, {a!r})", lambda x: in_place(x, a)
    if choice == 6:
        index = any_index(chance)
        return (
            f"x[{index!r}] = x[{a!r}] * 2.0",
            lambda x: changed(operator.setitem, x, index, x[a] * 2.0),
        )
    name = chance.PickValueInList(sorted(SHAPING))
    return f"{name}(x, {a!r}, {b!r})", lambda x: SHAPING[name](x, a, b)


def changed(change: Callable[..., Any], x: Any, *args: Any) -> Any:
    change(x, *args)
    return x


def outcome(call: Callable[[Any], Any], x: Any) -> Any:
    """What a call gives; None if it raises."""
    try:
        return call(x)
    except SystemError:
        raise
    except Exception:
        return None


def check_same(found: Any, expected: Any) -> None:
    value = np.asarray(cadiff.value(found))
    if value.dtype.kind == expected.dtype.kind == "f":
        assert value.shape == expected.shape, (value.shape, expected.shape)
        np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-300)


def run_calls(chance: Any) -> None:
    calls = [any_call(chance) for _ in range(chance.ConsumeIntInRange(1, MOST_STEPS))]

    def f(x: Any) -> Any:
        here, there = x * 1.0, START * 1.0
        for text, call in calls:
            if text.startswith(OF_BLAS) and not np.isfinite(there).all():
                break
            new, plain = outcome(call, here), outcome(call, there)
            if new is None or plain is None or np.size(plain) > ENDLESS:
                if new is not None or plain is not None:
                    break  # one of them may have been changed, and the other one not
                continue
            if not isinstance(plain, (np.ndarray, float)):
                break
            try:
                check_same(new, np.asarray(plain))
            except AssertionError:
                print(f"x = {there!r}: {text}", file=sys.stderr)
                raise
            # Both go on from the same numbers: else a last place decides at the next jump.
            here, there = new, np.array(cadiff.value(new))
        total = np.sum(here)
        return total if np.shape(total) == () else 0.0

    transform = chance.PickValueInList([cadiff.grad, cadiff.jacfwd])
    try:
        transform(f)(START)
    except (SystemError, AssertionError):
        raise
    except Exception:
        return


def run_one(data: bytes) -> None:
    chance = atheris.FuzzedDataProvider(data)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        (run_damaged if chance.ConsumeBool() else run_calls)(chance)


if __name__ == "__main__":
    atheris.Setup(sys.argv, run_one)
    atheris.Fuzz()
