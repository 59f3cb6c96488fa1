"""Pictures where there is no matplotlib; and what notebooks show, which takes none."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import cadiff
from cadiff import plot
from cadiff.optimize import History, minimize, root

from ..helpers.processes import isolated

NASTY = "<script>alert('&')</script>"


@pytest.mark.parametrize(
    "draw",
    [
        lambda: plot.sparsity(np.eye(2)),
        lambda: plot.convergence([2.0, 1.0]),
        lambda: plot.contours(lambda x: x[0] * x[1], bounds=((0, 1), (0, 1))),
        lambda: plot.graph(lambda x: x * x, 1.0),
        lambda: plot.profile(cadiff.make_tape(lambda x: x * x)(1.0)),
    ],
)
def test_an_error_says_what_to_install(
    draw: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install matplotlib"):
        draw()


@pytest.mark.slow  # it imports all modules
def test_matplotlib_is_imported_by_drawing_alone() -> None:
    code = "import sys, cadiff.plot, cadiff.optimize\nprint('matplotlib' in sys.modules)"
    assert isolated(code) == "False"


class Page(HTMLParser):
    """The tags of a page, which have to be closed, and its texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        self._open.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def page_of(item: Any) -> Page:
    text = item._repr_html_()
    assert len(text) < 20_000
    page = Page(text)
    assert "script" not in page.tags
    assert not re.search(r"(?<!-)color:|background", text)  # those of the page, light or dark
    return page


def nasty(f: Callable[..., Any]) -> Callable[..., Any]:
    f.__name__ = f.__qualname__ = NASTY
    return f


def test_tapes() -> None:
    tape = cadiff.make_tape(nasty(lambda p: p[NASTY] * cadiff.sin(p[NASTY])))({NASTY: 2.0})
    page = page_of(tape)
    assert page.texts[0] == f"Tape of {NASTY}: 2 operations, 1 input, 1 output, 96 bytes"
    assert "1 multiply, 1 sin" in page.texts
    assert "svg" in page.tags
    assert f"p[{NASTY!r}]" in page.texts


def test_programs() -> None:
    program = cadiff.compile(nasty(lambda x: x[0] * cadiff.sin(x[1])))
    assert page_of(program).texts == [f"cadiff.Program of {NASTY}, 0 recordings"]
    program.value_and_grad(np.ones(2))
    texts = page_of(program).texts
    assert texts[0] == f"cadiff.Program of {NASTY}, 1 recording"
    assert "0 replays, 0 misses: 2 inputs, 1 output, 2 operations, 0 guards" in texts
    assert "  gradient by inputs 0..1" in texts


def test_programs_that_run_their_function() -> None:
    def f(x: Any) -> Any:
        return x * float(cadiff.value(x))

    program = cadiff.compile(f)
    with pytest.warns(RuntimeWarning):
        program(2.0)
    page = page_of(program)
    assert page.texts[page.texts.index("run eagerly") + 1] == program.stats()["obstacles"][0]


def test_linear_maps() -> None:
    _, lin = cadiff.linearize(lambda x, y: [x * y[0], x @ x.T], np.ones((3, 2)), np.ones(1))
    expected = ["7 numbers: (3, 2), (1,)", "15 numbers: (3, 2), (3, 3)"]
    assert page_of(lin).texts[2::2] == expected
    assert page_of(lin.T).texts[2::2] == expected[::-1]


def test_results() -> None:
    start = {NASTY: np.zeros(2)}
    result = minimize(lambda p: ((p[NASTY] - 1.0) ** 2).sum(), start, callback=History())
    texts = page_of(result).texts
    assert texts[0] == "Result"
    assert texts[texts.index("success") + 1] == "True"
    assert NASTY in texts[texts.index("x") + 1]
    assert re.fullmatch("<.*History of . steps>", texts[texts.index("history") + 1])
    found = root(lambda x: x**2 - 4.0, np.array([3.0]))
    found.message = NASTY
    assert NASTY in page_of(found).texts


def test_results_are_those_of_scipy() -> None:
    from scipy.optimize import OptimizeResult
    from scipy.optimize import minimize as of_scipy

    result, other = (
        optimiser(lambda x: (x**2).sum(), [1.0, 2.0], jac=lambda x: 2 * x)
        for optimiser in (minimize, of_scipy)
    )
    assert isinstance(result, OptimizeResult)
    assert result.keys() == other.keys()
    methods = {"covariance", "hessian", "standard_errors"}
    assert dir(result) == sorted({*dir(other), *methods})
    assert repr(result) == repr(other)
    np.testing.assert_array_equal(result.x, other.x)
