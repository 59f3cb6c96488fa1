"""The seam to PyTorch, both ways: `cadiff.interop.torch`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import cadiff

torch = pytest.importorskip("torch")

from cadiff.interop import torch as seam  # noqa: E402

from ..helpers import seams  # noqa: E402
from ..helpers.seams import energy, product  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script")

NOTES = pytest.mark.skipif(not hasattr(Exception, "add_note"), reason="notes are of Python 3.11")
A, b = map(torch.tensor, (seams.A, seams.b))


def product_in_torch(A: Any, b: Any) -> Any:
    return torch.sin(A) @ b, torch.sum(b**2) * A[0, 0]


def energy_in_torch(x: Any) -> Any:
    return torch.sum(torch.exp(x) * x)


def leaves() -> tuple[Any, Any]:
    return A.clone().requires_grad_(), b.clone().requires_grad_()


def test_gradcheck_and_gradgradcheck_pass() -> None:
    f = seam.function(product)
    assert torch.autograd.gradcheck(f, leaves(), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(f, leaves())


@pytest.mark.parametrize("outer", ["grad", "jacrev", "jacfwd"])
@pytest.mark.parametrize("inner", ["jacrev", "jacfwd"])
def test_transforms_of_torch_func(outer: str, inner: str) -> None:
    outer_of, inner_of = getattr(torch.func, outer), getattr(torch.func, inner)

    def composed(f: Any) -> Any:
        first = inner_of(f)
        return outer_of((lambda x: first(x).sum()) if outer == "grad" else first)(b)

    assert torch.allclose(composed(seam.function(energy)), composed(energy_in_torch), rtol=1e-12)


def test_points_side_by_side() -> None:
    rows = torch.func.vmap(torch.func.grad(seam.function(energy)))(A)
    assert torch.allclose(rows, torch.func.vmap(torch.func.grad(energy_in_torch))(A), rtol=1e-12)
    several = torch.func.vmap(seam.function(product), in_dims=(None, 0))(
        A, torch.stack([b, 2 * b])
    )
    for k, x in enumerate((b, 2 * b)):
        for found, expected in zip(several, product_in_torch(A, x), strict=True):
            assert torch.allclose(found[k], expected, rtol=1e-12)


def test_dtypes_and_arguments_that_are_no_tensors() -> None:
    x = b.float().requires_grad_()
    y = seam.function(lambda x, c, k: (c * x**k).sum())(x, np.ones(3, np.float32), 2)
    y.backward()
    assert y.dtype == x.grad.dtype == torch.float32
    assert torch.equal(x.grad, 2 * x.detach())


def test_half_precision() -> None:
    x = b.half().requires_grad_()
    y = seam.function(energy)(x)
    (gradient,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(gradient.sum(), x)
    assert y.dtype == gradient.dtype == second.dtype == torch.float16
    expected = torch.func.grad(energy_in_torch)(b)
    assert torch.allclose(gradient.double(), expected, rtol=2e-3)
    with pytest.raises(TypeError, match=r"bfloat16, .*: write x\.float\(\)"):
        seam.function(energy)(b.bfloat16())


def test_what_f_returns_as_it_was_given_is_a_copy() -> None:
    y = seam.function(lambda x: x)(b)
    y += 1.0
    assert b[0] == -0.5


def test_a_backward_pass_in_another_thread() -> None:
    f = seam.function(energy)

    def one(k: int) -> Any:
        x = (b + k).requires_grad_()
        return x, f(x)

    with ThreadPoolExecutor(4) as threads:
        for x, y in list(threads.map(one, range(16))):
            threads.submit(y.backward).result()
            assert torch.allclose(x.grad, torch.func.grad(energy_in_torch)(x.detach()))


def test_complex_tensors_are_refused() -> None:
    with pytest.raises(TypeError, match=r"real numbers, not complex128: .* imaginary part apart"):
        seam.function(energy)(b * 1j)


@NOTES
def test_what_is_no_function_of_arrays_is_refused_with_a_way() -> None:
    with pytest.raises(TypeError, match=r"write function\(f\)\(x\)"):
        seam.function(energy, b)
    with pytest.raises(
        TypeError, match=r"Tensor, not numpy(.|\n)*write functions of cadiff\.numpy"
    ):
        seam.function(torch.exp)(b)
    with pytest.raises(TypeError, match=r"returned Tensor, .* functions of cadiff\.numpy"):
        seam.function(lambda x: A)(b)


# --- the other way


@pytest.mark.filterwarnings("ignore:.*runs its function eagerly:RuntimeWarning")
def test_what_a_constant_step_reads_is_read_anew() -> None:
    scale = torch.tensor(2.0, dtype=torch.float64)
    scaled = seam.primitive(lambda x: x * scale)
    program = cadiff.compile(lambda x: np.sum(x * scaled(np.ones(3))))
    for expected in (2.0, 2.0, 3.0, 4.0):
        scale.fill_(expected)
        assert program.grad(np.zeros(3)).tolist() == [expected] * 3


@NOTES
def test_a_model_of_another_precision_is_refused() -> None:
    mixed = seam.primitive(torch.nn.Linear(3, 1))
    with pytest.raises(RuntimeError, match=r"dtype(.|\n)*write model\.double\(\)"):
        cadiff.grad(lambda x: np.sum(mixed(x)))(np.ones(3))


# --- tensors as arrays


def test_tensors_are_arrays() -> None:
    gradient = cadiff.grad(lambda x, y: np.sum(x * y), argnums=(0, 1))(b, A[0])
    assert [x.tolist() for x in gradient] == [A[0].tolist(), b.tolist()]
    assert cadiff.grad(lambda x: b @ x + x @ b)(b.numpy()).tolist() == (2 * b).tolist()
    assert cadiff.grad(energy)(b.float()).dtype == np.float32


def test_a_tensor_that_carries_a_derivative_is_refused() -> None:
    x = b.clone().requires_grad_()
    for f in (energy, lambda y: np.sum(x * y), cadiff.compile(energy)):
        with pytest.raises(TypeError, match=r"none: .*torch\.function\(f\)\(x\), .*x\.detach\(\)"):
            cadiff.grad(f)(x)
    with pytest.raises(TypeError, match=r"torch\.function\(f\)\(x\)"):
        cadiff.grad(lambda y: y @ x)(b.numpy())
    with pytest.raises(TypeError, match=r"none: write x\.float\(\)"):
        cadiff.grad(energy)(b.bfloat16())
