"""Bundle adjustment: how far the points that cameras see are from where they should see them."""

from functools import partial

import cadiff
import cadiff.numpy as np

CAMERA, POINT = 11, 3
WIDTH = CAMERA + POINT + 1


def misfit(camera, point, weight, feature):
    """Of one observation, by its weight."""
    rotation, centre, focal, principal, radial = np.split(camera, [3, 6, 7, 9])
    seen = rotate(rotation, point - centre)
    plane = seen[:2] / seen[2]
    square = np.sum(plane**2)
    distortion = 1.0 + radial[0] * square + radial[1] * square**2
    pixel = principal + focal * distortion * plane
    return weight * (pixel - feature)


def off(weight):
    """How far a weight is from 1."""
    return 1.0 - weight**2


def rotate(vector, point):
    """A point that is turned about an axis, by the length of this vector (Rodrigues)."""
    angle = np.sqrt(np.sum(vector**2))
    if angle > 0.0:
        axis, cos, sin = vector / angle, np.cos(angle), np.sin(angle)
        return point * cos + np.cross(axis, point) * sin + axis * (axis @ point) * (1.0 - cos)
    return point + np.cross(vector, point)


def observed(cameras, points, weights, camera, point):
    """The unknowns of each observation."""
    return np.take(cameras, camera, axis=0), np.take(points, point, axis=0), weights


def compressed(dtype, blocks, last):
    """Of the Jacobian, row by row: two rows of each observation, then one of each weight."""
    p = len(last)
    numbers = np.empty((2 * WIDTH + 1) * p, dtype)
    rows = numbers[: 2 * WIDTH * p].reshape(p, 2, WIDTH)
    rows[..., :CAMERA], rows[..., CAMERA:-1], rows[..., -1] = blocks
    numbers[2 * WIDTH * p :] = last
    return numbers


def columns(n, m, camera, point):
    """In which columns these stand."""
    of_cameras = CAMERA * camera[:, None] + np.arange(CAMERA)
    of_points = CAMERA * n + POINT * point[:, None] + np.arange(POINT)
    of_weights = CAMERA * n + POINT * m + np.arange(len(camera))
    return [of_cameras[:, None], of_points[:, None], of_weights[:, None]], of_weights


def arguments(input):
    n, m, p = input["n"], input["m"], input["p"]
    cameras, points = np.tile(input["cam"], (n, 1)), np.tile(input["x"], (m, 1))
    weights, features = np.full(p, input["w"]), np.tile(input["feat"], (p, 1))
    return (cameras, points, weights, np.arange(p) % n, np.arange(p) % m), features


def functions(compiled):
    by_observation, by_weight = compiled(misfit), compiled(off)
    misfits, offs = cadiff.vmap(by_observation), cadiff.vmap(by_weight)
    blocks = cadiff.vmap(partial(by_observation.jacobian, argnums=(0, 1, 2)))
    slopes = cadiff.vmap(by_weight.grad)

    def objective(scene, features):
        found, weights = misfits(*observed(*scene), features), offs(scene[2])
        errors = {"elements": found[0], "repeated": len(found)}
        return {"reproj_error": errors, "w_err": {"element": weights[0], "repeated": len(found)}}

    def jacobian(scene, features):
        cameras, points, weights, camera, point = scene
        p = len(weights)
        vals = compressed(float, blocks(*observed(*scene), features), slopes(weights))
        matrix = {
            "rows": np.append(WIDTH * np.arange(2 * p), 2 * WIDTH * p + np.arange(p + 1)),
            "cols": compressed(np.int32, *columns(len(cameras), len(points), camera, point)),
            "vals": vals,
        }
        return {name: np.append(part[:30], part[-1]) for name, part in matrix.items()}

    return {"objective": objective, "jacobian": jacobian}
