"""The smallest inputs of all evals, in the form of GradBench's, all numbers from a seed.

The streams of `RandomState` never change, so that the recorded answers stay those of these inputs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["INPUTS"]

SEED = 31337
BONES, VERTICES, MEASURED = 22, 30, 4
ONCE = {"min_runs": 1, "min_seconds": 0.0}


def random() -> np.random.RandomState:
    return np.random.RandomState(SEED)


def gmm(d: int = 2, k: int = 5, n: int = 100) -> dict[str, Any]:
    """Two degrees of freedom more than there are with GradBench, that the prior shows."""
    draw = random()
    return {
        "alpha": draw.normal(size=k),
        "mu": draw.uniform(size=(k, d)),
        "q": draw.normal(size=(k, d)),
        "l": draw.normal(size=(k, d * (d - 1) // 2)),
        "x": draw.normal(size=(n, d)),
        "m": 2,
        "gamma": 1.5,
        "d": d,
        "k": k,
        "n": n,
    }


def ba() -> dict[str, Any]:
    """A camera that is ten away from a point, and sees it near the middle of its picture."""
    return {
        "cam": [0.3, -0.2, 0.5, 1.0, 2.0, -10.0, 400.0, 5.0, -8.0, 0.08, 0.003],
        "x": [1.4, 2.6, 0.1],
        "w": 0.4,
        "feat": [30.0, 40.0],
        "n": 3,
        "m": 70,
        "p": 400,
    }


def ht(*, complicated: bool) -> dict[str, Any]:
    """A model of random bones: each hangs on one before it."""
    draw = random()
    parents = [-1, *(int(draw.randint(i)) for i in range(1, BONES))]
    model = {
        "bone_count": BONES,
        "bone_names": [f"bone{i}" for i in range(BONES)],
        "parents": parents,
        "base_relatives": np.eye(4) + 0.1 * draw.normal(size=(BONES, 4, 4)),
        "inverse_base_absolutes": np.eye(4) + 0.1 * draw.normal(size=(BONES, 4, 4)),
        "base_positions": np.append(draw.normal(size=(VERTICES, 3)), np.ones((VERTICES, 1)), 1),
        "weights": draw.dirichlet(np.ones(BONES), VERTICES),
        "triangles": draw.randint(VERTICES, size=(20, 3)),
        "is_mirrored": complicated,
    }
    data = {
        "model": model,
        "correspondences": draw.randint(20, size=MEASURED),
        "points": draw.normal(size=(MEASURED, 3)),
    }
    us: Any = draw.uniform(size=(MEASURED, 2)) if complicated else []
    return {"theta": 0.5 * draw.normal(size=26), "data": data, "us": us}


def lstm(layers: int = 2, bits: int = 5, characters: int = 40) -> dict[str, Any]:
    draw = random()
    return {
        "main_params": draw.uniform(size=(2 * layers, 4 * bits)),
        "extra_params": draw.uniform(size=(3, bits)),
        "state": draw.uniform(size=(2 * layers, bits)),
        "sequence": draw.randint(2, size=(characters, bits)).astype(float),
    }


def kmeans(k: int = 10, n: int = 1000, d: int = 8) -> dict[str, Any]:
    points = random().uniform(size=(n, d))
    return {"points": points, "centroids": points[-k:]}


def det(ell: int = 5) -> dict[str, Any]:
    return {"A": random().uniform(size=ell * ell), "ell": ell}


def lists(value: Any) -> Any:
    """Arrays as JSON has them."""
    if isinstance(value, dict):
        return {name: lists(part) for name, part in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value


INPUTS: dict[str, tuple[tuple[str, ...], Any]] = {
    "hello": (("square", "double"), 3.0),
    "gmm": (("objective", "jacobian"), gmm()),
    "ba": (("objective", "jacobian"), ba()),
    "ht": (("objective", "jacobian"), ht(complicated=True)),
    "ht simple": (("objective", "jacobian"), ht(complicated=False)),
    "lstm": (("objective", "jacobian"), lstm()),
    "kmeans": (("cost", "dir"), kmeans()),
    "det": (("primal", "gradient"), det()),
    "llsq": (("primal", "gradient"), {"x": random().uniform(size=128), "n": 16}),
    "lse": (("primal", "gradient"), {"x": random().uniform(size=2500)}),
    "ode": (("primal", "gradient"), {"x": random().uniform(size=20), "s": 10}),
    "particle": (("rr", "ff", "fr", "rf"), {"w": 0.0}),
    "saddle": (("rr", "ff", "fr", "rf"), {"start": [1.0, 1.0]}),
}
INPUTS = {
    name: (functions, lists(given | ONCE if isinstance(given, dict) else given))
    for name, (functions, given) in INPUTS.items()
}
