"""Operands of long vectors that do not stand side by side: they are copied row by row where they
stand evenly, and once for all that read them on a level."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.testing as npt

import cadiff
import cadiff.numpy as cnp

N, M = 50, 60
X = np.linspace(0.1, 1.0, N + M)


def products(x: Any) -> Any:
    return cnp.ravel(cnp.sin(x[:N, None] * x[N:]))


def test_entries_of_a_jacobian_read_rows() -> None:
    program = cadiff.compile(products)
    for x in (X, X[::-1].copy()):
        a, b = x[:N], x[N:]
        cos = np.cos(a[:, None] * b)
        wanted = np.zeros((N, M, N + M))
        wanted[np.arange(N), :, np.arange(N)] = cos * b
        wanted[:, np.arange(M), N + np.arange(M)] = cos * a[:, None]
        found = program.sparse_jacobian(x).toarray()
        npt.assert_allclose(found, wanted.reshape(N * M, -1), rtol=1e-14)
    assert not re.search(r"\btake +\d{4}", program.to_text())


def test_what_is_gathered_in_no_order_is_gathered_once() -> None:
    """Each entry is one of two products, which read the same numbers."""
    index = np.random.default_rng(0).integers(0, N, 2500)

    def f(x: Any) -> Any:
        chosen = x[:N][index]
        return cnp.concatenate([cnp.sin(chosen), cnp.cos(chosen)])

    program = cadiff.compile(f)
    found = program.sparse_jacobian(X).toarray()
    rows = np.arange(len(index))
    wanted = np.zeros((2 * len(index), N + M))
    wanted[rows, index] = np.cos(X[index])
    wanted[rows + len(index), index] = -np.sin(X[index])
    npt.assert_allclose(found, wanted, rtol=1e-14, atol=0.0)
