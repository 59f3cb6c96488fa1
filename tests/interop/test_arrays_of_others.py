"""Arrays of other libraries, as arguments and as constants; what they ask of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp


class Lent:
    """An array as other libraries have it."""

    def __init__(self, values: Any, error: type[Exception] | None = None) -> None:
        self.values = np.asarray(values)
        self.error = error

    def __dlpack__(self, **_: Any) -> Any:
        return self.values.__dlpack__()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if self.error is not None:
            raise self.error("on a graph of its own")
        return self.values.astype(dtype or self.values.dtype)


x = np.array([1.0, -2.0])


@pytest.mark.parametrize("f", [lambda x: x, cadiff.compile], ids=["eager", "compiled"])
def test_an_array_of_another_library_is_an_array(f: Any) -> None:
    assert cadiff.grad(f(lambda y: np.sum(y**2)))(Lent(x)).tolist() == [2.0, -4.0]
    single = cadiff.grad(f(lambda y: np.sum(y**2)))(Lent(x.astype(np.float32)))
    assert single.dtype == np.float32
    assert cadiff.grad(f(lambda d: np.sum(d["w"] ** 2)))({"w": Lent(x)})["w"].tolist() == [2, -4]


def test_it_is_a_constant_beside_numbers() -> None:
    assert cadiff.grad(lambda y: np.sum(y * Lent(x)) + Lent(x) @ y)(x).tolist() == [2.0, -4.0]
    assert cadiff.value(Lent(x) - cadiff.Var(x)).tolist() == [0.0, 0.0]
    assert (cadiff.Var(x) > Lent(x - 1.0)).all()


def test_one_that_cannot_be_converted_is_refused() -> None:
    for f in (lambda y: np.sum(y), lambda y: np.sum(x * y)):
        with pytest.raises(RuntimeError, match="graph of its own"):
            cadiff.grad(f)(Lent(x, RuntimeError))
    with pytest.raises(RuntimeError, match="graph of its own"):
        cadiff.grad(lambda y: np.sum(y * Lent(x, RuntimeError)))(x)


def test_dtypes_of_numbers_are_known() -> None:
    for kind in (np.float32, np.float64):
        dtype = cadiff.Var(x.astype(kind)).dtype
        assert cnp.isdtype(dtype, "real floating")
        assert cnp.isdtype(dtype, kind)
        assert not cnp.isdtype(dtype, ("integral", "complex floating"))


def test_xarray_and_pint_within_a_function() -> None:
    xarray = pytest.importorskip("xarray")
    squares = cadiff.grad(lambda y: (xarray.DataArray(y, dims="t") ** 2).sum("t").item())(x)
    assert squares.tolist() == [2.0, -4.0]
    pint = pytest.importorskip("pint")
    metre = pint.UnitRegistry().metre
    area = cadiff.grad(lambda y: ((y * metre) ** 2).to("cm**2").magnitude.sum())(x)
    np.testing.assert_allclose(area, [2e4, -4e4])
