"""A neural network of 64-256-10 units reads handwritten digits.

scikit-learn's digits are 1797 images of 8 x 8 pixels; a fifth of them is held back for testing.
The network is plain NumPy and its loss the cross-entropy of the ten classes;
`cadiff.value_and_grad` takes the list of weights and gives a list of gradients, float32 like the
weights. They are compared with forward mode, which carries several directions at once. Then the
network is trained by stochastic gradient descent with momentum, and again by Adam; each run must
classify at least 97 % of the test images correctly.

    pip install ".[examples]"
    python examples/network.py --optimizer adam --plot loss.png
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

import cadiff
from cadiff import nn

try:
    import matplotlib as mpl
    from matplotlib import pyplot as plt
    from sklearn.datasets import load_digits
    from tqdm import tqdm
except ModuleNotFoundError as error:
    raise SystemExit(f'this example needs {error.name}: pip install ".[examples]"') from error

Array: TypeAlias = npt.NDArray[np.float32]
Labels: TypeAlias = npt.NDArray[np.int64]
Weights: TypeAlias = list[Array]

HIDDEN = 256
BATCH = 32
EPOCHS = 30
TEST_SHARE = 5  # one image in so many


def load() -> tuple[Array, Labels, Array, Labels]:
    """Images and labels for training and for testing; the split is always the same one."""
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    images = (digits.data[order] / 16.0).astype(np.float32)
    labels = digits.target[order]
    held_back = len(labels) // TEST_SHARE
    return images[held_back:], labels[held_back:], images[:held_back], labels[:held_back]


def initial_weights(rng: np.random.Generator, sizes: tuple[int, ...]) -> Weights:
    """Weight matrices at He's scale and zero biases, for each layer (He et al. 2015)."""
    weights = []
    for inputs, outputs in pairwise(sizes):
        matrix = rng.standard_normal((inputs, outputs)) * np.sqrt(2.0 / inputs)
        weights += [matrix.astype(np.float32), np.zeros(outputs, dtype=np.float32)]
    return weights


def logits(weights: Any, images: Array) -> Any:
    """The network: unnormalised log-probabilities of the classes."""
    first, first_bias, second, second_bias = weights
    hidden = nn.relu(images @ first + first_bias)
    return hidden @ second + second_bias


def loss(weights: Any, images: Array, labels: Labels) -> Any:
    """Cross-entropy, the mean over a batch."""
    return nn.cross_entropy(logits(weights, images), labels)


def accuracy(weights: Weights, images: Array, labels: Labels) -> float:
    """The share of images that are classified correctly."""
    return float(np.mean(np.argmax(logits(weights, images), axis=1) == labels))


def compare_modes(weights: Weights, images: Array, labels: Labels, lanes: int = 16) -> float:
    """Relative difference between slopes by forward mode, many at once, and by the gradient."""
    rng = np.random.default_rng(0)
    directions = [rng.standard_normal((*w.shape, lanes)) for w in weights]
    duals = [cadiff.Dual(w, d) for w, d in zip(weights, directions, strict=True)]
    forward = loss(duals, images, labels).tangent
    gradients = cadiff.grad(loss)(weights, images, labels)
    reverse = sum(
        np.tensordot(g, d, axes=g.ndim) for g, d in zip(gradients, directions, strict=True)
    )
    return float(np.linalg.norm(forward - reverse) / np.linalg.norm(reverse))


class SGD:
    """Stochastic gradient descent with momentum."""

    def __init__(self, weights: Weights, step: float = 0.05, momentum: float = 0.9) -> None:
        self.step = np.float32(step)
        self.momentum = np.float32(momentum)
        self.velocities = [np.zeros_like(w) for w in weights]

    def update(self, weights: Weights, gradients: Weights) -> None:
        """Change the weights in place."""
        for w, g, v in zip(weights, gradients, self.velocities, strict=True):
            v *= self.momentum
            v -= self.step * g
            w += v


class Adam:
    """Steps scaled by running moments of the gradient (Kingma and Ba 2015)."""

    def __init__(
        self, weights: Weights, step: float = 0.002, decays: tuple[float, float] = (0.9, 0.999)
    ) -> None:
        self.step = np.float32(step)
        self.decays = np.array(decays, dtype=np.float32)
        self.count = 0
        self.means = [np.zeros_like(w) for w in weights]
        self.squares = [np.zeros_like(w) for w in weights]

    def update(self, weights: Weights, gradients: Weights) -> None:
        """Change the weights in place."""
        self.count += 1
        first, second = self.decays
        bias, bias_of_square = 1.0 - self.decays**self.count
        moments = zip(weights, gradients, self.means, self.squares, strict=True)
        for w, g, mean, square in moments:
            mean += (1.0 - first) * (g - mean)
            square += (1.0 - second) * (g * g - square)
            w -= self.step * (mean / bias) / (np.sqrt(square / bias_of_square) + 1e-8)


OPTIMIZERS: dict[str, Callable[[Weights], SGD | Adam]] = {"sgd": SGD, "adam": Adam}


def train(name: str, epochs: int, seed: int) -> tuple[float, list[float]]:
    """Train from scratch; return the accuracy on the test images and the loss of each batch."""
    rng = np.random.default_rng(seed)
    images, labels, test_images, test_labels = load()
    weights = initial_weights(rng, (images.shape[1], HIDDEN, 10))
    optimizer = OPTIMIZERS[name](weights)
    value_and_grad = cadiff.value_and_grad(loss)
    losses = []
    progress = tqdm(range(epochs), desc=name, unit="epoch")
    for _ in progress:
        order = rng.permutation(len(labels))
        for batch in np.array_split(order, len(order) // BATCH):
            value, gradients = value_and_grad(weights, images[batch], labels[batch])
            assert all(g.dtype == np.float32 for g in gradients)
            optimizer.update(weights, gradients)
            losses.append(float(value))
        progress.set_postfix(loss=f"{losses[-1]:.4f}")
    return accuracy(weights, test_images, test_labels), losses


def plot(curves: dict[str, list[float]], path: Path) -> None:
    """Draw the losses, a running mean over twenty batches, into a file."""
    mpl.use("Agg")
    figure, axes = plt.subplots()
    for name, losses in curves.items():
        axes.semilogy(np.convolve(losses, np.full(20, 0.05), mode="valid"), label=name)
    axes.set_xlabel("batch")
    axes.set_ylabel("cross-entropy")
    axes.legend()
    figure.savefig(path)
    plt.close(figure)


def main() -> None:
    """Train with the chosen optimisers, check the accuracy, save the plot."""
    parser = argparse.ArgumentParser(description="train a network on scikit-learn's digits")
    parser.add_argument("--optimizer", choices=["both", *OPTIMIZERS], default="both")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plot", type=Path, help="file for the plot of the loss")
    options = parser.parse_args()

    images, labels, _, _ = load()
    weights = initial_weights(np.random.default_rng(options.seed), (images.shape[1], HIDDEN, 10))
    distance = compare_modes(weights, images[:BATCH], labels[:BATCH])
    print(f"forward and reverse mode differ by {distance:.0e}, float32 rounds to 6e-08")
    assert distance < 1e-6

    names = list(OPTIMIZERS) if options.optimizer == "both" else [options.optimizer]
    curves = {}
    for name in names:
        share, curves[name] = train(name, options.epochs, options.seed)
        print(f"{name:4}  {share:.1%} of the test images read rightly")
        assert share >= 0.97
    path = options.plot or Path(tempfile.mkdtemp(prefix="cadiff-")) / "loss.png"
    plot(curves, path)
    print(f"the loss is drawn in {path}")


if __name__ == "__main__":
    main()
