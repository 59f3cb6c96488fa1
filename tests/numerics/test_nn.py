"""What networks are made of, against its definition, in every mode and at its extremes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mpmath import mp

import cadiff
from cadiff import Var, nn

from ..helpers.functions import agree

LABELS = np.array([2, 0, 1, 2])


def logits(*shape: int) -> np.ndarray:
    return 3.0 * np.random.default_rng(0).standard_normal(shape)


FOUR = logits(4, 3)


def agree_to_second_order(f: Callable[[Any], Any], x: np.ndarray) -> None:
    agree(f, x)
    u = np.random.default_rng(2).standard_normal(np.shape(f(x)))
    gradient = cadiff.grad(lambda x: np.sum(u * f(x)))
    agree(gradient, x)
    agree(lambda x: cadiff.jvp(f, (x,), (np.cos(np.arange(x.size)).reshape(x.shape),))[1], x)


# --- activations ---------------------------------------------------------------------------------


def test_activations_are_those_of_the_package() -> None:
    assert nn.relu is cadiff.relu
    assert nn.sigmoid is cadiff.expit
    assert nn.softplus is cadiff.softplus


@pytest.mark.parametrize("x", [-30.0, -5.0, -0.7, 0.0, 1e-9, 0.4, 3.0, 40.0])
def test_gelu(x: float) -> None:
    """It keeps its digits for negative numbers, where x Φ(x) nearly vanishes."""

    def twin(x: Any) -> Any:
        return x * mp.erfc(-x / mp.sqrt(2)) / 2

    with mp.workdps(40):
        for order in range(3):
            want = float(mp.diff(twin, mp.mpf(x), order))
            moved = float(abs(x * mp.diff(twin, mp.mpf(x), order + 1)))
            size = abs(want) * (1.0 + x * x) + moved
            assert cadiff.derivative(nn.gelu, x, order=order) == pytest.approx(
                want, rel=0.0, abs=1e-15 * size + 1e-300
            )


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize(
    ("shape", "axis"), [((4,), -1), ((3, 4), -1), ((3, 4), 0), ((3, 4), None), ((2, 3, 4), (0, 2))]
)
def test_softmax(name: str, shape: tuple[int, ...], axis: Any) -> None:
    f, x = getattr(nn, name), logits(*shape)
    p = np.exp(x) / np.exp(x).sum(axis=axis, keepdims=True)
    np.testing.assert_allclose(f(x, axis), p if name == "softmax" else np.log(p), rtol=1e-13)
    np.testing.assert_array_equal(cadiff.value(f(Var(x), axis)), f(x, axis))
    agree_to_second_order(lambda x: f(x, axis), x)


def test_softmax_of_extreme_numbers() -> None:
    x = np.array([1000.0, 0.0, -math.inf])
    np.testing.assert_array_equal(nn.softmax(x), [1.0, 0.0, 0.0])
    np.testing.assert_array_equal(nn.log_softmax(x), [0.0, -1000.0, -math.inf])
    jacobian = cadiff.jacrev(nn.log_softmax)(np.array([1000.0, 0.0]))
    np.testing.assert_array_equal(jacobian, [[0.0, 0.0], [-1.0, 1.0]])


# --- cross-entropy -------------------------------------------------------------------------------


def plain_cross_entropy(x: Any, labels: np.ndarray) -> Any:
    rows = np.arange(len(labels))
    return np.mean(np.log(np.sum(np.exp(x), axis=-1)) - x[rows, labels])


def test_cross_entropy() -> None:
    x = logits(4, 3)
    assert nn.cross_entropy(x, LABELS) == pytest.approx(plain_cross_entropy(x, LABELS), rel=1e-14)
    loss, gradient = cadiff.value_and_grad(nn.cross_entropy)(x, LABELS)
    assert loss == nn.cross_entropy(x, LABELS)
    expected = (nn.softmax(x) - nn.one_hot(LABELS, 3)) / 4
    np.testing.assert_allclose(gradient, expected, rtol=1e-12)
    agree_to_second_order(lambda x: nn.cross_entropy(x, LABELS), x)
    p = nn.softmax(x[:1])[0]
    hessian = cadiff.hessian(nn.cross_entropy)(x[:1], [1])[0, :, 0, :]
    np.testing.assert_allclose(hessian, np.diag(p) - np.outer(p, p), rtol=1e-13, atol=1e-16)


def test_cross_entropy_of_other_shapes() -> None:
    one, many = logits(3), logits(2, 4, 3)
    assert nn.cross_entropy(one, 1) == pytest.approx(-nn.log_softmax(one)[1], rel=1e-14)
    agree(lambda x: nn.cross_entropy(x, 1), one)
    labels = np.stack([LABELS, LABELS[::-1]])
    mean = np.mean([nn.cross_entropy(x, y) for x, y in zip(many, labels, strict=True)])
    assert nn.cross_entropy(many, labels) == pytest.approx(mean, rel=1e-14)
    agree(lambda x: nn.cross_entropy(x, labels), many)


@pytest.mark.parametrize(
    "loss",
    [
        lambda x, labels: nn.cross_entropy(2.0 * x, labels),
        lambda x, labels: np.sum(nn.one_hot(labels, 3) * np.exp(x)),
    ],
    ids=["cross_entropy", "one_hot"],
)
def test_labels_of_batches_are_inputs_of_programs(loss: Any) -> None:
    """Other labels need no new recording; wrong ones raise what they raise without a program."""
    program = cadiff.compile(loss)
    for shift in range(5):
        x, labels = logits(4, 3) + shift, (LABELS + shift) % 3
        gradient = cadiff.grad(lambda x, labels=labels: loss(x, labels))
        np.testing.assert_allclose(program.grad(x, labels), gradient(x), rtol=1e-14)
        hessian = cadiff.jacobian(gradient)(x)
        np.testing.assert_allclose(program.hessian(x, labels), hessian, rtol=1e-12, atol=1e-16)
    assert program.stats()["recordings"] == 2
    assert not program.stats()["eager"]
    with pytest.raises(ValueError, match=r"labels of 3 classes are 0 ... 2, not 0 ... 3"):
        program(x, np.array([0, 1, 2, 3]))


@pytest.mark.parametrize("gap", [0.0, 5.0, 40.0, 300.0, 800.0, -5.0, -40.0, -800.0])
def test_nearly_certain_and_nearly_impossible_rows(gap: float) -> None:
    """Loss log(1 + 2 exp(-gap)), derivative -2 / (2 + exp(gap)) by the right logit."""
    x = np.array([[100.0 + gap, 100.0, 100.0]])
    with mp.workdps(400):
        loss = float(mp.log1p(2 * mp.exp(-gap)))
        slope = float(-2 / (2 + mp.exp(gap)))
    got, gradient = cadiff.value_and_grad(nn.cross_entropy)(x, [0])
    assert got == pytest.approx(loss, rel=1e-14, abs=0.0)
    assert gradient[0, 0] == pytest.approx(slope, rel=1e-14, abs=0.0)
    np.testing.assert_allclose(gradient[0, 1:], -slope / 2.0, rtol=1e-14)


@pytest.mark.parametrize("gap", [0.0, 40.0, 800.0, -800.0])
def test_programs_compute_rows_by_themselves(gap: float) -> None:
    """They need no Python, labels are inputs, and digits are kept as well."""
    row = np.array([0.3, gap, -0.2])

    def loss(x: Any, label: Any) -> Any:
        return nn.cross_entropy(x, label) + nn.softmax(x)[0] * nn.log_softmax(x)[2]

    program = cadiff.compile(loss)
    for label in range(3):
        value, gradient = cadiff.value_and_grad(loss)(row, label)
        found = program.value_and_grad(row, label)
        assert found[0] == pytest.approx(value, rel=1e-12, abs=0.0)
        np.testing.assert_allclose(found[1], gradient, rtol=1e-12)
    assert "log1p" in program.to_c(row, 1)  # which calls of Python have no place in
    assert cadiff.compile(nn.cross_entropy)([1.0, -np.inf], 1) == np.inf
    with pytest.raises(ValueError, match="labels of 3 classes"):
        program(row, 3)


@pytest.mark.parametrize(
    ("x", "labels", "error", "match"),
    [
        (FOUR, [0, 1, 2, 3], ValueError, "0 ... 2"),
        (FOUR, [0, 1, 2, -1], ValueError, "0 ... 2"),
        (FOUR, [0.0, 1.0, 2.0, 1.0], TypeError, "astype"),
        (FOUR, [0, 1], ValueError, r"shape \(4,\)"),
        (FOUR, [[0, 1, 2, 0]], ValueError, r"shape \(4,\)"),
        (3.0, 0, ValueError, "at least one class"),
        (np.zeros((4, 0)), [0, 0, 0, 0], ValueError, "at least one class"),
    ],
)
def test_wrong_labels_are_refused(x: Any, labels: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        nn.cross_entropy(x, labels)


def test_one_hot() -> None:
    np.testing.assert_array_equal(nn.one_hot([2, 0], 3), [[0, 0, 1], [1, 0, 0]])
    assert nn.one_hot([[1], [0]], 2, dtype=np.float32).shape == (2, 1, 2)
    assert nn.one_hot(1, 2).tolist() == [0.0, 1.0]
    assert nn.one_hot([], 3).shape == (0, 3)
    with pytest.raises(ValueError, match=r"0 \.\.\. 2"):
        nn.one_hot([3], 3)
