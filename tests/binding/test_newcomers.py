"""Names that other packages have, tried here: what the errors say."""

from __future__ import annotations

import importlib
import re
from typing import Any

import numpy as np
import pytest

import cadiff
from cadiff.binding import _core, newcomers

NUMBERS = [
    cadiff.Var(1.0),
    cadiff.Var([1.0, 2.0]),
    cadiff.Dual(1.0, 1.0),
    cadiff.Dual([1.0], [1.0]),
    cadiff.Var(1.0 + 2.0j),
]


def exists(path: str) -> bool:
    found: Any = cadiff
    parts = path.split(".")[1:]
    for k, part in enumerate(parts):
        if not hasattr(found, part):
            try:
                importlib.import_module(".".join(["cadiff", *parts[: k + 1]]))
            except ImportError:
                return False
        found = getattr(found, part)
    return True


@pytest.mark.parametrize("name", newcomers.NAMES)
def test_the_package_says_what_to_write(name: str) -> None:
    assert not hasattr(cadiff, name) and name not in dir(cadiff)
    with pytest.raises(AttributeError, match=rf"module 'cadiff' has no attribute '{name}': \w"):
        getattr(cadiff, name)


@pytest.mark.parametrize("name", newcomers.NUMBERS)
def test_numbers_say_what_to_write(name: str) -> None:
    for number in NUMBERS:
        assert not hasattr(number, name) and getattr(number, name, 7) == 7
        assert name not in dir(number) and "sum" in dir(number)
        with pytest.raises(AttributeError, match=rf"no attribute '{name}': \w") as caught:
            getattr(number, name)
        assert caught.value.name == name and caught.value.obj is number


def test_what_is_to_be_written_exists() -> None:
    texts = [*newcomers.NAMES.values(), *newcomers.NUMBERS.values()]
    named = {path for text in texts for path in re.findall(r"\bcadiff(?:\.[A-Za-z_]\w*)+", text)}
    assert len(named) > 30
    assert {path for path in named if not exists(path)} == set()


def test_nothing_that_numbers_have_is_hidden() -> None:
    known = {
        *dir(np.ndarray),
        *_core.functions(),
        "value",
        "grad",
        "backward",
        "primal",
        "tangent",
    }
    assert known & newcomers.NUMBERS.keys() == set()


def test_imports_say_so_too() -> None:
    with pytest.raises(ImportError, match=r"cannot import name 'jit'.*write cadiff\.compile"):
        from cadiff import jit  # noqa: F401
    with pytest.raises(ImportError, match="cannot import name 'no_such_name'"):
        from cadiff import no_such_name  # noqa: F401


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("linspace", r"write cadiff\.numpy\.linspace"),
        ("svd", r"write cadiff\.numpy\.linalg\.svd"),
        ("dropout", r"write cadiff\.nn\.dropout|has no attribute 'dropout'"),
        ("commands", r"write `import cadiff\.commands` first"),
        ("nonsense", r"has no attribute 'nonsense'$"),
        ("__wrapped__", r"has no attribute '__wrapped__'$"),
    ],
)
def test_names_of_its_modules_are_found(name: str, words: str) -> None:
    with pytest.raises(AttributeError, match=words):
        newcomers.missing("cadiff", name)


def test_complex_arrays_and_stale_numbers_say_it_too() -> None:
    z = cadiff.Var(np.array([1.0 + 1j, 2.0]))
    with pytest.raises(AttributeError, match=r"'detach': cadiff\.stop_gradient"):
        z.detach()
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        z.nonsense


MISTAKES: dict[str, tuple[Any, type[Exception], str]] = {
    "point beside f": (
        lambda x: cadiff.grad(np.sum, x),
        TypeError,
        r"argnums is an int or a tuple of ints, not array.*grad\(f\)\(x\)",
    ),
    "points beside f": (lambda x: cadiff.vmap(np.sum, x), TypeError, r"vmap\(f\)\(X\)"),
    "shapes": (
        lambda x: cadiff.grad(lambda w: (np.ones((4, 2)) @ w).sum())(x),
        ValueError,
        r"matmul: .* shapes \(4, 2\) and \(3,\)",
    ),
    "reflected shapes": (
        lambda x: cadiff.compile(lambda w: w @ np.ones((4, 2)))(x),
        ValueError,
        r"matmul: .* shapes \(3,\) and \(4, 2\)",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_mistakes_of_newcomers(mistake: Any) -> None:
    make, kind, words = mistake
    with pytest.raises(kind, match=words):
        make(np.ones(3))


@pytest.mark.skipif(not hasattr(Exception, "add_note"), reason="notes are of Python 3.11")
def test_labels_and_positions_of_tables() -> None:
    with pytest.raises(IndexError) as caught:
        cadiff.grad(lambda table: table["a"])(np.ones(2))
    assert "register_container" in "".join(caught.value.__notes__)
    with pytest.raises(IndexError) as outside:
        cadiff.grad(lambda x: x[5])(np.ones(2))
    assert not hasattr(outside.value, "__notes__")
