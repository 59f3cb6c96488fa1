"""A gradient in pieces: Dask's worker processes differentiate, each the data that it has."""

import sys

import numpy as np

import cadiff
from cadiff import nn

PENALTY = 1.0


@cadiff.compile
def surprise(weights, images, labels):
    """Minus the log-likelihood of labels: a template of 64 weights for each of ten digits."""
    return len(labels) * nn.cross_entropy(images @ weights.reshape(64, 10), labels)


def with_penalty(weights, value, gradient):
    return value + 0.5 * PENALTY * weights @ weights, gradient + PENALTY * weights


def main(path=None):
    """Workers import this file, too: what they do not need is imported here."""
    from scipy.optimize import minimize
    from sklearn.datasets import load_digits

    try:
        import dask.array as da
        from dask.distributed import Client, LocalCluster
    except ModuleNotFoundError:
        print('nothing is shown here without Dask: pip install "dask[distributed]"')
        return

    images, labels = load_digits(return_X_y=True)  # 1797 images of 8 x 8 pixels
    rows = (450, 450, 450, 447)
    X, y = da.from_array(images / 16.0, (rows, 64)), da.from_array(labels, (rows,))
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        # Each piece of the arrays stays with the worker that has it.
        pieces = client.compute([*zip(X.to_delayed().ravel(), y.to_delayed(), strict=True)])

        def in_pieces(weights):
            """A sum over all pieces: weights go to the workers, values and gradients return."""
            parts = client.map(lambda piece: surprise.value_and_grad(weights, *piece), pieces)
            return with_penalty(weights, *map(sum, zip(*client.gather(parts), strict=True)))

        def at_once(weights):
            """The same in this process."""
            return with_penalty(weights, *surprise.value_and_grad(weights, images / 16.0, labels))

        at = np.random.default_rng(0).normal(size=640)
        (value, gradient), (expected, slopes) = in_pieces(at), at_once(at)
        error = np.abs(gradient - slopes).max() / np.abs(slopes).max()
        print(f"gradients of {len(pieces)} pieces and of the whole differ by {error:.0e}")
        assert np.isclose(value, expected, rtol=1e-12)
        assert error < 1e-12
        start, options = np.zeros(640), {"maxiter": 15}
        result = minimize(in_pieces, start, jac=True, method="L-BFGS-B", options=options)

    alone = minimize(at_once, start, jac=True, method="L-BFGS-B", options=options)
    print(f"surprise {result.fun:.6f} by {result.nfev} gradients of workers, ", end="")
    print(f"{alone.fun:.6f} by one process")
    assert np.isclose(result.fun, alone.fun, rtol=1e-9)
    if path:
        draw(path, result.x)


def draw(path, weights):
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(2, 5, figsize=(7.0, 3.2), layout="constrained")
    largest = np.abs(weights).max()
    for digit, axes in enumerate(panels.flat):
        template = weights.reshape(64, 10)[:, digit].reshape(8, 8)
        shown = axes.imshow(template, cmap="PuOr", vmin=-largest, vmax=largest)
        axes.set_title(str(digit), fontsize=9)
        axes.axis("off")
    figure.colorbar(shown, ax=panels, label="weight of a pixel / nat")
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:2])
