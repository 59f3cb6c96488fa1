"""Bundle adjustment: where twelve cameras stood and what they saw, from their pictures alone.

The scene is synthetic, so that the truth is known: 240 points on a wavy surface, seen by cameras
on an arc around it, with noise of half a pixel; each picture lacks a twentieth of the points.
"""

import sys

import numpy as np
from cadiff.scipy.spatial.transform import Rotation

from cadiff.optimize import least_squares

FOCAL, NOISE = 800.0, 0.5  # in pixels
CAMERAS, POINTS = 12, 240
rng = np.random.default_rng(0)


def project(scene, camera, point):
    """Pixels of points in pictures; a camera is a rotation and a translation."""
    poses = scene["poses"][camera]
    seen = Rotation.from_rotvec(poses[:, :3]).apply(scene["points"][point]) + poses[:, 3:]
    return FOCAL * seen[:, :2] / seen[:, 2:]


# The truth, pictures of it, and a poor guess.
plane = rng.uniform(-1.0, 1.0, size=(POINTS, 2))
height = 0.3 * np.sin(3.0 * plane[:, 0]) * np.cos(2.0 * plane[:, 1])
angles = np.linspace(-0.8, 0.8, CAMERAS)
turns = Rotation.from_euler("yx", np.column_stack([angles, np.full(CAMERAS, 0.3)])).as_rotvec()
away = np.tile([0.0, 0.0, 4.0], (CAMERAS, 1))
truth = {"poses": np.hstack([turns, away]), "points": np.column_stack([plane, height])}
camera, point = np.nonzero(rng.random((CAMERAS, POINTS)) > 0.05)
pictures = project(truth, camera, point) + NOISE * rng.normal(size=(len(camera), 2))
guess = {name: part + 0.1 * rng.normal(size=part.shape) for name, part in truth.items()}


def misfit(scene):
    return ((project(scene, camera, point) - pictures) / NOISE).ravel()


fit = least_squares(misfit, guess, x_scale="jac", ftol=1e-10)
parameters = 6 * CAMERAS + 3 * POINTS - 7  # but for seven that no picture tells: place, turn, size
expected = np.sqrt(1.0 - parameters / fit.fun.size)
rms = np.sqrt(np.mean(fit.fun**2))
print(f"{fit.fun.size:,} residuals of {fit.jac.shape[1]} parameters, ", end="")
print(f"{fit.jac.nnz / np.prod(fit.jac.shape):.1%} of the Jacobian are not zero")
print(f"misfit {np.sqrt(np.mean(misfit(guess) ** 2)):.0f} -> {rms:.4f} of the noise, ", end="")
print(f"{expected:.4f} expected, after {fit.nfev} steps")
assert abs(rms / expected - 1.0) < 4.0 / np.sqrt(2.0 * (fit.fun.size - parameters))


def aligned(points):
    """Points moved, turned and scaled to the true ones as well as can be: Procrustes."""
    a, b = (p - p.mean(axis=0) for p in (points, truth["points"]))
    turn, stretch = Rotation.align_vectors(b, a)[0], np.linalg.norm(b) / np.linalg.norm(a)
    return stretch * turn.apply(a) + truth["points"].mean(axis=0)


found = aligned(fit.x["points"])
errors = np.linalg.norm(found - truth["points"], axis=1)
print(f"points are found to {np.median(errors):.1e}; a pixel is {4.0 / FOCAL:.1e}")
assert np.median(errors) < 0.5 * 4.0 / FOCAL


def draw(path):
    from matplotlib import pyplot as plt

    plt.style.use("tableau-colorblind10")
    figure, panels = plt.subplots(1, 2, figsize=(7.0, 4.2), layout="constrained")
    for axes, scene, title in zip(panels, (guess, fit.x), ("guess", "adjusted"), strict=True):
        pixels = project(scene, camera, point)[camera == 0] + [320.0, 240.0]
        wanted = pictures[camera == 0] + [320.0, 240.0]
        axes.plot(*np.stack([pixels, wanted]).transpose(2, 0, 1), "C2", lw=0.8)
        axes.plot(*wanted.T, "C0o", ms=3, mfc="none", label="picture")
        axes.plot(*pixels.T, "C1.", ms=3, label="projection")
        axes.set(title=title, xlabel="column / pixels", xlim=panels[0].get_xlim())
        axes.set(ylim=panels[0].get_ylim(), aspect="equal")
    panels[0].set_ylabel("row / pixels")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    figure.savefig(path, dpi=120)


if len(sys.argv) > 1:
    draw(sys.argv[1])
