"""Logistic regression in mini-batches, with a loss written as a scalar Python loop.

The data are 1000 rows of 4 features and an intercept; each step takes a batch of 100 and moves by
0.005 times the gradient of the summed binary cross-entropy. The gradient is checked against its
closed form, Xᵀ(σ(Xβ) - y), and the result against the maximum-likelihood solution that Newton's
method finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

import cadiff

Array: TypeAlias = npt.NDArray[np.float64]

ROWS = 1000
BATCH = 100
EPOCHS = 60
STEP_SIZE = 0.005


def make_sample(rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw the design matrix, its first column all ones, and labels 0 or 1 from the model."""
    features = rng.standard_normal((ROWS, 4))
    design = np.column_stack([np.ones(ROWS), features])
    beta = np.array([0.3, 1.0, -1.5, 0.5, 0.8])
    labels = (rng.uniform(size=ROWS) < sigmoid(design @ beta)).astype(np.float64)
    return design, labels


def sigmoid(z: Array) -> Array:
    """Probability of the label 1 at log-odds z."""
    return 1.0 / (1.0 + np.exp(-z))


def cross_entropy(beta: Any, rows: Sequence[Sequence[float]], labels: Sequence[float]) -> Any:
    """Binary cross-entropy summed over the rows: Σ log(1 + exp(z)) - y z with z = β·row."""
    beta = list(beta)
    total = 0.0
    for row, label in zip(rows, labels, strict=True):
        z = 0.0
        for coefficient, feature in zip(beta, row, strict=True):
            z += coefficient * feature
        total += cadiff.log1p(cadiff.exp(z)) - label * z
    return total


def descend(design: Array, labels: Array, rng: np.random.Generator) -> tuple[Array, list[float]]:
    """Take mini-batch steps from zero; return the coefficients and the loss of each epoch."""
    value_and_grad = cadiff.value_and_grad(cross_entropy)
    beta = np.zeros(design.shape[1])
    losses = []
    for _ in range(EPOCHS):
        loss = 0.0
        for batch in rng.permutation(ROWS).reshape(-1, BATCH):
            # Python's own lists and floats: the fastest data for a Python loop.
            value, gradient = value_and_grad(beta, design[batch].tolist(), labels[batch].tolist())
            beta -= STEP_SIZE * gradient
            loss += value
        losses.append(loss)
    return beta, losses


def maximum_likelihood(design: Array, labels: Array) -> Array:
    """Solve Xᵀ(σ(Xβ) - y) = 0 by Newton's method."""
    beta = np.zeros(design.shape[1])
    for _ in range(20):
        p = sigmoid(design @ beta)
        hessian = (design.T * (p * (1.0 - p))) @ design
        beta -= np.linalg.solve(hessian, design.T @ (p - labels))
    return beta


def main() -> None:
    """Check the gradient, descend, and compare with the maximum-likelihood solution."""
    rng = np.random.default_rng(0)
    design, labels = make_sample(rng)

    at = rng.standard_normal(design.shape[1])
    gradient = cadiff.grad(cross_entropy)(at, design.tolist(), labels.tolist())
    expected = design.T @ (sigmoid(design @ at) - labels)
    error = np.linalg.norm(gradient - expected) / np.linalg.norm(expected)
    print(f"gradient against its closed form: relative error {error:.1e}")
    assert error < 1e-12

    beta, losses = descend(design, labels, rng)
    optimum = maximum_likelihood(design, labels)
    distance = np.linalg.norm(beta - optimum) / np.linalg.norm(optimum)
    print(f"loss: {losses[0]:.2f} in the first epoch, {losses[-1]:.2f} in the last")
    print(f"mini-batches        {np.array2string(beta, precision=4)}")
    print(f"maximum likelihood  {np.array2string(optimum, precision=4)}")
    print(f"relative distance {distance:.1e}")
    assert losses[-1] < losses[0]
    assert distance < 0.05


if __name__ == "__main__":
    main()
