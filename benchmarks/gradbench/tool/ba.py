"""Bundle adjustment: how far the points that cameras see are from where they should see them."""

import cadiff
import cadiff.numpy as np

CAMERA, POINT = 11, 3


def residuals(unknowns, feature):
    """Of one observation: two by its weight, and one of the weight, which should be 1."""
    rotation, centre, focal, principal, radial, point, weight = np.split(
        unknowns, [3, 6, 7, 9, CAMERA, CAMERA + POINT]
    )
    seen = rotate(rotation, point - centre)
    plane = seen[:2] / seen[2]
    square = np.sum(plane**2)
    distortion = 1.0 + radial[0] * square + radial[1] * square**2
    pixel = principal + focal * distortion * plane
    return np.concatenate([weight * (pixel - feature), 1.0 - weight**2])


def rotate(vector, point):
    """A point that is turned about an axis, by the length of this vector (Rodrigues)."""
    angle = np.sqrt(np.sum(vector**2))
    if angle > 0.0:
        axis, cos, sin = vector / angle, np.cos(angle), np.sin(angle)
        return point * cos + np.cross(axis, point) * sin + axis * (axis @ point) * (1.0 - cos)
    return point + np.cross(vector, point)


def rows_of(cameras, points, weights, camera, point):
    """The unknowns of each observation."""
    return np.concatenate([cameras[camera], points[point], weights[:, None]], axis=1)


def compressed(blocks, n, m, camera, point):
    """The Jacobian, row by row: two of each observation, then one of each weight."""
    p = len(blocks)
    of_weights = CAMERA * n + POINT * m + np.arange(p)
    of_cameras = CAMERA * camera[:, None] + np.arange(CAMERA)
    of_points = CAMERA * n + POINT * point[:, None] + np.arange(POINT)
    columns = np.concatenate([of_cameras, of_points, of_weights[:, None]], axis=1)
    lengths = np.repeat([CAMERA + POINT + 1, 1], [2 * p, p])
    return {
        "rows": np.concatenate([[0], np.cumsum(lengths)]),
        "cols": np.concatenate([np.ravel(np.repeat(columns, 2, axis=0)), of_weights]),
        "vals": np.concatenate([np.ravel(blocks[:, :2]), blocks[:, 2, -1]]),
    }


def arguments(input):
    n, m, p = input["n"], input["m"], input["p"]
    cameras, points = np.tile(input["cam"], (n, 1)), np.tile(input["x"], (m, 1))
    weights, features = np.full(p, input["w"]), np.tile(input["feat"], (p, 1))
    return (cameras, points, weights, np.arange(p) % n, np.arange(p) % m), features


def functions(compiled):
    program = compiled(residuals)
    of_rows, blocks_of_rows = cadiff.vmap(program), cadiff.vmap(program.jacobian)

    def objective(scene, features):
        found = of_rows(rows_of(*scene), features)
        misfits = {"elements": found[0, :2], "repeated": len(found)}
        return {"reproj_error": misfits, "w_err": {"element": found[0, 2], "repeated": len(found)}}

    def jacobian(scene, features):
        cameras, points, _, camera, point = scene
        blocks = blocks_of_rows(rows_of(*scene), features)
        matrix = compressed(blocks, len(cameras), len(points), camera, point)
        return {name: np.append(part[:30], part[-1]) for name, part in matrix.items()}

    return {"objective": objective, "jacobian": jacobian}
