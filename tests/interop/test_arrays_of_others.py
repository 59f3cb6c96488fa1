"""Arrays of other libraries, as arguments and as constants; what they ask of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp


class Lent:
    """An array as other libraries have it."""

    def __init__(self, values: Any, error: type[BaseException] | None = None) -> None:
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


USES: dict[str, Any] = {
    "operation": cadiff.sin,
    "ufunc": cnp.sin,
    "function": lambda y: cnp.dot(x, y),
    "argument": cadiff.grad(lambda y: np.sum(x * y)),
    "argument of a program": cadiff.compile(lambda y: np.sum(x * y)).grad,
    "constant": lambda y: cadiff.grad(lambda z: np.sum(z * y))(x),
    "derivative": lambda y: cadiff.jvp(lambda z: z, (y,), (x,)),
}


@pytest.mark.parametrize("host", ["torch", "jax._src.interpreters.ad", "others"])
@pytest.mark.parametrize("use", USES)
def test_one_that_makes_no_array_is_refused_with_a_way(use: str, host: str) -> None:
    kind = type("Traced", (Lent,), {"__module__": host})
    name = host.partition(".")[0]
    way = "pass an array" if name == "others" else rf"write cadiff\.interop\.{name}\.function\(f\)"
    with pytest.raises(TypeError, match=f"this Traced of {name} makes none: {way}") as caught:
        USES[use](kind(x, RuntimeError))
    assert str(caught.value.__cause__) == "on a graph of its own"


def test_other_errors_beside_an_array_of_others_are_kept() -> None:
    with pytest.raises(ValueError, match="not aligned"):
        cnp.dot(Lent(x), np.ones(3))
    with pytest.raises(KeyboardInterrupt):
        cadiff.sin(Lent(x, KeyboardInterrupt))


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
