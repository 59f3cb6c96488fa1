"""A network of 64-64-10 units learns to read handwritten digits."""

import sys

import numpy as np
from sklearn.datasets import load_digits

import cadiff
from cadiff import nn
from cadiff.optimize import adam

# 1797 images of 8 x 8 pixels, a fifth of them held back for testing.
images, labels = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
order = rng.permutation(len(labels))
images, labels = images[order] / 16.0, labels[order]
test, train = slice(None, 359), slice(359, None)


def network(weights, images):
    """The logarithms of the odds of the ten digits."""
    hidden = nn.relu(images @ weights["in"] + weights["bias"])
    return hidden @ weights["out"]


def loss(weights, images, labels):
    return nn.cross_entropy(network(weights, images), labels)


def accuracy(weights, which):
    return np.mean(network(weights, images[which]).argmax(axis=1) == labels[which])


start = {
    "in": rng.normal(size=(64, 64)) * np.sqrt(2.0 / 64),
    "bias": np.zeros(64),
    "out": rng.normal(size=(64, 10)) * np.sqrt(2.0 / 64),
}
history = []


def note(intermediate_result):
    weights = intermediate_result.x
    history.append((intermediate_result.fun, loss(weights, images[test], labels[test])))


result = adam(
    loss, start, (images[train], labels[train]), epochs=20, batch_size=32, learning_rate=3e-3,
    rng=0, callback=note,
)  # fmt: skip
share = accuracy(result.x, test)
print(
    f"{result.nfev} steps: {accuracy(result.x, train):.1%} of the images are read rightly, ",
    end="",
)
print(f"{share:.1%} of those held back")

# Gradients are those of backpropagation by hand.
x, y, w = images[:100], labels[:100], result.x
hidden = np.maximum(x @ w["in"] + w["bias"], 0.0)
error = (nn.softmax(hidden @ w["out"]) - nn.one_hot(y, 10)) / len(y)
back = (error @ w["out"].T) * (hidden > 0.0)
by_hand = {"in": x.T @ back, "bias": back.sum(axis=0), "out": hidden.T @ error}
gradient = cadiff.grad(loss)(w, x, y)
assert all(np.allclose(gradient[k], by_hand[k], rtol=0.0, atol=1e-14) for k in w)
assert share > 0.97


def draw(path):
    from matplotlib import pyplot as plt

    plt.style.use("tableau-colorblind10")
    figure = plt.figure(figsize=(7.0, 4.0), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(3, 2))
    axes = left.subplots()
    axes.semilogy(np.arange(1, 21), [row[0] for row in history], "C0", label="trained with")
    axes.semilogy(np.arange(1, 21), [row[1] for row in history], "C1--", label="held back")
    axes.set(xlabel="epoch", ylabel="cross-entropy / nat")
    axes.legend(loc="upper right")
    read = network(result.x, images[test]).argmax(axis=1)
    wrong = np.flatnonzero(read != labels[test])[:6]
    right.suptitle("read wrongly", fontsize=11)
    for k, panel in zip(wrong, right.subplots(3, 2).flat, strict=False):
        panel.imshow(images[test][k].reshape(8, 8), cmap="gray_r")
        panel.set_title(f"{labels[test][k]} read as {read[k]}", fontsize=8)
    for panel in right.axes:
        panel.axis("off")
    figure.savefig(path, dpi=120)


if len(sys.argv) > 1:
    draw(sys.argv[1])
