"""Hand tracking: how far measured points are from the skin of a hand whose bones were moved."""

import cadiff.numpy as np

FINGERS, JOINTS = 5, 4  # the last joint of each is its tip, which does not bend


def misfits(theta, us, hand, points, triangles):
    """Three for each point; it lies in a triangle of vertices, or at one where there is no u."""
    skin = positions(theta, hand)
    if us is None:
        on_skin = skin[triangles]
    else:
        inner = np.concatenate([us, 1.0 - np.sum(us, axis=1, keepdims=True)], axis=1)
        on_skin = np.sum(inner[:, :, None] * skin[triangles], axis=1)
    return np.ravel(points - on_skin)


def positions(theta, hand):
    """Vertices: each bone moves them all, and their weights say how much of that counts."""
    angles = angles_of_bones(theta[6:], len(hand["parents"]))
    placed = {-1: np.eye(4)}
    for bone, parent in enumerate(hand["parents"]):
        placed[bone] = placed[parent] @ hand["relatives"][bone] @ turn(*angles[bone])
    moves = np.stack([placed[bone] for bone in range(len(angles))]) @ hand["inverse_absolutes"]
    moved = moves[:, :3] @ hand["positions"].T
    skin = np.sum(moved * hand["weights"].T[:, None], axis=0).T
    if hand["is_mirrored"]:
        skin = skin * np.array([-1.0, 1.0, 1.0])
    return skin @ rotation(theta[:3]).T + theta[3:6]


def angles_of_bones(theta, bones):
    """Of the x, z and y axes: a finger bends at three joints, and moves sideways at the first."""
    angles = np.zeros((bones, 3))
    for finger, (first, side, second, third) in enumerate(theta.reshape(FINGERS, 4)):
        joint = 2 + JOINTS * finger
        angles[joint : joint + 3, 0] = np.stack([first, second, third])
        angles[joint, 1] = side
    return angles


def turn(x, z, y):
    """About the x axis, then y, then z: a matrix of homogeneous coordinates."""
    (cx, cy, cz), (sx, sy, sz) = np.cos([x, y, z]), np.sin([x, y, z])
    return np.array(
        [
            [cy * cz, sx * sy * cz - cx * sz, cx * sy * cz + sx * sz, 0.0],
            [cy * sz, sx * sy * sz + cx * cz, cx * sy * sz - sx * cz, 0.0],
            [-sy, sx * cy, cx * cy, 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def rotation(vector):
    """About an axis, by the length of this vector."""
    angle = np.sqrt(np.sum(vector**2))
    if angle < 1e-4:
        return np.eye(3)
    x, y, z = axis = vector / angle
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    outer = np.outer(axis, axis)
    return outer + np.cos(angle) * (np.eye(3) - outer) + np.sin(angle) * cross


def arguments(input):
    data, model = input["data"], input["data"]["model"]
    hand = {
        "parents": model["parents"],
        "relatives": np.array(model["base_relatives"]),
        "inverse_absolutes": np.array(model["inverse_base_absolutes"]),
        "positions": np.array(model["base_positions"]),
        "weights": np.array(model["weights"]),
        "is_mirrored": model["is_mirrored"],
    }
    corners = np.array(data["correspondences"])
    us = np.array(input["us"]) if input["us"] else None
    if us is not None:
        corners = np.array(model["triangles"])[corners]
    return np.array(input["theta"]), us, hand, np.array(data["points"]), corners


def shifted(moves, us, *others):
    """All u are shifted by the same: each point has its own, so that two columns hold them all."""
    return misfits(moves[2:], us + moves[:2], *others)


def functions(compiled):
    program, with_shifts = compiled(misfits), compiled(shifted)

    def jacobian(theta, us, *others):
        if us is None:
            return program.jacobian(theta, us, *others)
        return with_shifts.jacobian(np.concatenate([np.zeros(2), theta]), us, *others)

    return {"objective": program, "jacobian": jacobian}
