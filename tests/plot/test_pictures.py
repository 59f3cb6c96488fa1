"""Pictures: what is drawn is what there is. Places, colours, labels and texts are compared."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import cadiff
import cadiff.numpy as cnp
from cadiff import plot
from cadiff.inspection import layout as layouts
from cadiff.optimize import History, minimize
from cadiff.plot import _axes

from ..helpers.functions import rosenbrock

matplotlib = pytest.importorskip("matplotlib", reason="pictures are drawn with it")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")
colors = pytest.importorskip("matplotlib.colors")


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def products(x: Any) -> Any:
    """Lower triangles along the diagonal, for whose entries there are no formulas."""
    return cnp.cumprod(2.0 + cadiff.sin(x).reshape(-1, 4), axis=1).ravel()


# --- sparsity ------------------------------------------------------------------------------------


def pixels(ax: Any) -> Any:
    (image,) = ax.images
    return image.get_array()


def is_marked(ax: Any) -> Any:
    return pixels(ax)[:, :, 3] > 0


def test_entries_are_where_those_of_the_matrix_are() -> None:
    x = np.linspace(0.0, 1.0, 8)
    ax = plot.sparsity(products, x)
    assert_array_equal(is_marked(ax), cadiff.jacobian(products)(x) != 0.0)
    assert tuple(ax.images[0].get_extent()) == (-0.5, 7.5, 7.5, -0.5)
    assert ax.get_title() == "8 × 8 Jacobian: 20 entries,\n4 colours of columns"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("input", "result")


def test_columns_of_one_colour_share_no_row() -> None:
    ax = plot.sparsity(products, np.ones(12))
    image, marked = pixels(ax), is_marked(ax)
    for row, places in zip(image, marked, strict=True):
        assert len(np.unique(row[places], axis=0)) == places.sum()
    for column, places in zip(image.swapaxes(0, 1), marked.T, strict=True):
        assert len(np.unique(column[places], axis=0)) == 1
    assert len(np.unique(image[marked], axis=0)) == 4


def test_rows_have_colours_where_they_need_fewer() -> None:
    def long(x: Any) -> Any:
        return cnp.cumprod(2.0 + cadiff.sin(x).reshape(-1, 4), axis=1)[:, -1]

    ax = plot.sparsity(long, np.ones(12))
    assert ax.get_title() == "3 × 12 Jacobian: 12 entries,\n1 colour of rows"


def test_rows_by_copies_of_what_they_share() -> None:
    which = np.arange(20) % 3

    def distances(x: Any) -> Any:
        return cnp.linalg.norm(cnp.sin(x.reshape(3, 2)[which]), axis=1)

    ax = plot.sparsity(distances, np.ones(6))
    expected = "20 × 6 Jacobian: 40 entries,\n1 colour of rows, by copies of inputs"
    assert ax.get_title() == expected


def test_hessians_programs_and_transforms() -> None:
    def f(x: Any) -> Any:
        return (cadiff.exp(products(x)) * x).sum()

    x = np.linspace(0.0, 1.0, 8)
    expected = cadiff.hessian(f)(x) != 0.0
    program = cadiff.compile(f)
    hessian = cadiff.sparse_hessian(f, format="csc")
    axes = [plot.sparsity(program, x, what="hessian"), plot.sparsity(hessian, x)]
    for ax in axes:
        assert_array_equal(is_marked(ax), expected)
        assert ax.get_title().startswith("8 × 8 Hessian: 32 entries,\n")
        assert ax.get_ylabel() == "input"
    assert_array_equal(pixels(axes[0]), pixels(axes[1]))
    lower = cadiff.sparse_hessian(f, sparsity=np.tril(expected))
    assert_array_equal(is_marked(plot.sparsity(lower, x)), np.tril(expected))


def test_each_entry_by_a_formula() -> None:
    ax = plot.sparsity(lambda x: x[1:] * x[:-1], np.ones(4))
    assert ax.get_title() == "3 × 4 Jacobian: 6 entries,\neach by a formula of its own"
    assert len(np.unique(pixels(ax)[is_marked(ax)], axis=0)) == 1


def test_matrices_and_maps() -> None:
    matrix = sparse.random(7, 5, 0.4, random_state=0)
    for given in (matrix.tocsr(), matrix.tocsc(), matrix, matrix.toarray()):
        ax = plot.sparsity(given)
        assert_array_equal(is_marked(ax), matrix.toarray() != 0.0)
        assert ax.get_title() == "7 × 5 matrix: 14 entries"
    _, lin = cadiff.linearize(lambda x: x[1:] * x[:-1], np.ones(4))
    assert_array_equal(is_marked(plot.sparsity(lin.T)), lin.T.todense() != 0.0)
    for shape in ((0, 3), (3, 0), (0, 0)):
        ax = plot.sparsity(np.zeros(shape))
        assert not is_marked(ax).any()
        ax.figure.canvas.draw()


def test_functions_that_run_as_they_are() -> None:
    program = cadiff.compile(lambda x: x**3 * (1.0 - cadiff.numpy.isin(x, 7.0)))
    program.be_quiet()
    ax = plot.sparsity(program, np.ones(3))
    assert ax.get_title().startswith("3 × 3 Jacobian: 3 entries")
    assert_array_equal(is_marked(ax), np.eye(3, dtype=bool))


def test_a_large_matrix_is_an_image_of_few_pixels() -> None:
    n = 300_000
    rows = np.arange(n) % 64_000
    columns = (rows * 7) % 4300
    matrix = sparse.coo_array((np.ones(n), (rows, columns)), shape=(64_000, 4300))
    begun = time.process_time()
    ax = plot.sparsity(matrix)
    assert time.process_time() - begun < 2.0
    height, width = pixels(ax).shape[:2]
    assert height < 1000 and width < 1000
    expected = np.zeros((height, width), dtype=bool)
    expected[rows * height // 64_000, columns * width // 4300] = True
    assert_array_equal(is_marked(ax), expected)
    assert ax.get_title() == "64,000 × 4,300 matrix: 300,000 entries"


# --- convergence ---------------------------------------------------------------------------------


def test_lines_are_the_values() -> None:
    ax = plot.convergence([4.0, 2.0, 1.0], np.array([3.0, 0.5]), labels=["one", "<two>"])
    assert [line.get_ydata().tolist() for line in ax.lines] == [[4.0, 2.0, 1.0], [3.0, 0.5]]
    assert [line.get_xdata().tolist() for line in ax.lines] == [[0, 1, 2], [0, 1]]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "<two>"]
    assert ax.get_yscale() == "log"
    styles = {(line.get_linestyle(), *colors.to_rgb(line.get_color())) for line in ax.lines}
    assert len(styles) == 2


def test_values_that_are_not_positive_are_drawn_above_the_lowest() -> None:
    ax = plot.convergence([1.0, 0.0, -1.0], [2.0, np.nan, -3.0])
    assert_array_equal(ax.lines[0].get_ydata(), [4.0, 3.0, 2.0])
    assert_array_equal(ax.lines[1].get_ydata(), [5.0, np.nan, np.nan])
    assert ax.get_ylabel() == "value above the lowest, -3"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["run 1", "run 2"]


def test_results_and_histories() -> None:
    result = minimize(rosenbrock, [-1.2, 1.0], callback=History())
    ax = plot.convergence({"BFGS": result})
    assert_array_equal(ax.lines[0].get_ydata(), result.history.values)
    assert ax.get_legend() is not None
    ax = plot.convergence(result.history, what="gradient", ax=ax)
    assert_array_equal(ax.lines[1].get_ydata(), result.history.gradient_norms)
    assert ax.get_ylabel() == "norm of the gradient"


# --- contours ------------------------------------------------------------------------------------


def level_lines(ax: Any) -> list[tuple[float, Any]]:
    """Each level, and the points of its lines."""
    found = ax.collections[1]
    return [
        (level, np.concatenate([np.empty((0, 2)), *path.to_polygons(closed_only=False)]))
        for level, path in zip(found.levels, found.get_paths(), strict=True)
    ]


def test_contours_are_where_the_function_has_their_values() -> None:
    ax = plot.contours(lambda x: x[0] ** 2 + 3.0 * x[1], bounds=((-1.0, 2.0), (0.0, 1.0)))
    levels = level_lines(ax)
    assert len(levels) == 16
    for level, points in levels:
        assert len(points) > 5
        assert_allclose(points[:, 0] ** 2 + 3.0 * points[:, 1], level, atol=1e-3)
    assert (ax.get_xlim(), ax.get_ylim()) == ((-1.0, 2.0), (0.0, 1.0))


def test_the_path_and_its_ends() -> None:
    result = minimize(rosenbrock, [-1.2, 1.0], callback=History())
    ax = plot.contours(rosenbrock, result)
    path, start, end = ax.lines
    assert_array_equal(path.get_xydata(), result.history.path)
    assert_array_equal(start.get_xydata()[0], [-1.2, 1.0])
    assert_array_equal(end.get_xydata()[0], result.history.path[-1])
    (left, right), points = ax.get_xlim(), result.history.path[:, 0]
    width = np.ptp(points)
    assert_allclose([left, right], [points.min() - 0.25 * width, points.max() + 0.25 * width])


def test_other_coordinates_are_fixed_at_the_end_of_the_path() -> None:
    way = np.array([[0.0, 1.0, 5.0], [2.0, 3.0, 7.0]])
    ax = plot.contours(lambda x: x[0] * x[2] + 100.0 * x[1], way, coordinates=(2, -3))
    for level, points in level_lines(ax):
        assert_allclose(points[:, 1] * points[:, 0] + 300.0, level, atol=1e-2)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x[2]", "x[0]")
    assert_array_equal(ax.lines[0].get_xydata(), way[:, [2, 0]])
    ax = plot.contours(lambda x: x[0] + x[1], way[:1])  # one point has no width
    assert ax.get_xlim()[0] < 0.0 < ax.get_xlim()[1]


def test_parameters_in_containers() -> None:
    def f(p: Any) -> Any:
        return (p["a"] - 1.0) ** 2 + (p["b"] ** 2).sum()

    result = minimize(f, {"a": 0.0, "b": np.ones(2)}, callback=History())
    ax = plot.contours(f, result, coordinates=(0, 2))
    rest = result.history.path[-1, 1] ** 2
    for level, points in level_lines(ax):
        assert_allclose((points[:, 0] - 1.0) ** 2 + points[:, 1] ** 2 + rest, level, atol=1e-2)


def test_arrows_go_down() -> None:
    ax = plot.contours(lambda x: x[0] + 2.0 * x[1], bounds=((0, 10), (0, 10)), arrows=True)
    arrows = ax.collections[-1]
    assert len(arrows.U) == 14 * 14
    assert_allclose(arrows.V / arrows.U, 2.0)
    assert np.all(arrows.U < 0.0)


def test_what_is_infinite_is_left_out_and_what_is_flat_is_drawn() -> None:
    ax = plot.contours(lambda x: cadiff.log(x[0]) + x[1], bounds=((-1, 1), (0, 1)))
    assert all(points[:, 0].min() > 0.0 for _, points in level_lines(ax))
    ax = plot.contours(lambda x: 0.0 * x[0] + 3.0, bounds=((-1, 1), (0, 1)), arrows=True)
    ax.figure.canvas.draw()


def test_functions_that_read_values_are_run_point_by_point() -> None:
    def f(x: Any) -> Any:
        return float(cadiff.value(x[0])) + x[1]

    ways = (f, lambda x: math.fsum([x[0], x[1]]))  # the latter takes plain numbers alone
    for way in ways:
        ax = plot.contours(way, bounds=((0, 1), (0, 1)), points=10)
        for level, points in level_lines(ax):
            assert_allclose(points.sum(axis=1), level, atol=1e-9)


# --- graphs --------------------------------------------------------------------------------------


def texts_of(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_a_node_for_each_input_and_operation() -> None:
    ax = plot.graph(lambda x, y: cadiff.sin(x) * y, 0.5, 3.0)
    assert texts_of(ax) == [
        "x\n= 0.5\nadjoint 2.63275",
        "y\n= 3\nadjoint 0.479426",
        "#0 sin\nx\n= 0.479426\nadjoint 3",
        "#1 multiply\n#0, y\n= 1.43828\nadjoint 1\noutput",
    ]
    assert ax.get_title() == "<lambda>: 2 operations, 2 inputs, 1 output, 112 bytes"
    boxes = [patch for patch in ax.patches if hasattr(patch, "get_boxstyle")]
    edges = [patch for patch in ax.patches if not hasattr(patch, "get_boxstyle")]
    assert len(edges) == 3
    around = [colors.to_hex(box.get_edgecolor()) for box in boxes]
    assert around[0] == around[1] and len(set(around)) == 3  # inputs, operation, output


def test_texts_fit_into_their_boxes() -> None:
    given = {"$W_1$": np.ones((3, 4)), "b" * 50: 1.0}
    ax = plot.graph(lambda p: cadiff.exp(p["$W_1$"]).sum() * p["b" * 50], given)
    ax.figure.canvas.draw()
    boxes = [patch for patch in ax.patches if hasattr(patch, "get_boxstyle")]
    assert "$W_1$" in ax.texts[0].get_text()
    for text, box in zip(ax.texts, boxes, strict=True):
        inner, outer = text.get_window_extent(), box.get_window_extent()
        assert outer.x0 <= inner.x0 and inner.x1 <= outer.x1
        assert outer.y0 <= inner.y0 and inner.y1 <= outer.y1
        page = ax.figure.bbox
        assert outer.x0 >= 0 and outer.x1 <= page.width
        assert outer.y0 >= 0 and outer.y1 <= page.height


def test_what_is_left_out_is_told() -> None:
    ax = plot.graph(rosenbrock, np.ones(50), max_nodes=6)
    assert len(ax.texts) == 8
    assert "... 386 operations left out ..." in texts_of(ax)


def test_programs_as_graphs() -> None:
    program = cadiff.compile(lambda x: cadiff.sin(x) * x)
    ax = plot.graph(program, 0.0)
    assert texts_of(ax) == [
        "inputs\nw[0]",
        "#0.0 sin\nw[1] = sin(w[0])",
        "#0.1 multiply\nw[2] = w[1] * w[0]",
        "1 result",
    ]
    program.grad(1.0)
    assert any("cos" in text for text in texts_of(plot.graph(program, what="gradient")))


def test_edges_lead_round_boxes() -> None:
    tape = cadiff.make_tape(rosenbrock)(np.linspace(-1.0, 1.0, 5).tolist())
    found = tape.to_graph()
    sizes = {
        name: (10.0 * max(map(len, lines)), 12.0 * len(lines)) for name, lines, _ in found.nodes
    }
    layout = layouts.laid_out(sizes, found.edges)
    boxes = np.array([layout.boxes[name] for name, _, _ in found.nodes])
    low, high = boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2
    assert low.min() > -1e-9
    assert high[:, 0].max() <= layout.width + 1e-9
    assert high[:, 1].max() <= layout.height + 1e-9
    for k in range(len(boxes)):
        overlaps = (low < high[k] - 1e-9).all(axis=1) & (high > low[k] + 1e-9).all(axis=1)
        assert overlaps.sum() == 1
    for (source, target), way in zip(found.edges, layout.ways, strict=True):
        assert layout.boxes[source].y < layout.boxes[target].y
        for (x, y), (to_x, to_y) in zip(way[1::2], way[2::2], strict=False):  # past a layer
            assert x == to_x
            assert not (
                (low[:, 0] < x) & (x < high[:, 0]) & (low[:, 1] < to_y) & (y < high[:, 1])
            ).any()
    assert layouts.laid_out({}, []).width == 0.0


# --- profiles ------------------------------------------------------------------------------------


def test_bars_are_the_costs() -> None:
    program = cadiff.compile(lambda x: cnp.sum(cnp.exp(x) * x))
    found = program.profile(np.ones(50), what="value")
    ax = plot.profile(found)
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        cost.operation for cost in found.costs
    ]
    total = sum(cost.seconds for cost in found.costs)
    widths = np.array([bar.get_width() for bar in ax.patches])
    assert_allclose(widths / widths.sum(), [cost.seconds / total for cost in found.costs])
    assert widths[0] == widths.max()
    share = found.costs[0].seconds / total
    assert ax.texts[0].get_text() == f"{share:.0%} · 50"
    assert any(text.startswith("test_pictures.py:") for text in texts_of(ax))
    assert ax.get_title().startswith("value: ")


def test_few_bars_and_functions() -> None:
    ax = plot.profile(rosenbrock, np.ones(5), max_bars=2)
    assert len(ax.patches) == 2
    assert ax.get_yticklabels()[1].get_text().endswith(" others")


def test_tapes_have_numbers_and_no_times() -> None:
    tape = cadiff.make_tape(lambda x: cnp.sum(cnp.exp(x) * x * 2.0) + x[0])(np.ones(50))
    ax = plot.profile(tape)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == ["multiply", "exp", "add", "sum"]
    assert [bar.get_width() for bar in ax.patches] == [100.0, 50.0, 1.0, 1.0]
    assert ax.get_title() == "5 operations, 152 numbers"


# --- all of them ---------------------------------------------------------------------------------


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_pictures_go_where_they_are_told_in_colours_that_can_be_seen(style: str) -> None:
    with plt.style.context(style):
        _, axes = plt.subplots(1, 5)
        assert plot.sparsity(products, np.ones(8), ax=axes[0]) is axes[0]
        assert plot.convergence([2.0, 1.0], ax=axes[1]) is axes[1]
        assert plot.contours(rosenbrock, np.eye(2), points=5, ax=axes[2]) is axes[2]
        assert plot.graph(rosenbrock, np.ones(2), ax=axes[3]) is axes[3]
        assert plot.profile(rosenbrock, np.ones(2), ax=axes[4]) is axes[4]
        ground = np.array(_axes.ground_of(axes[0]))
        for n in (1, 7, 50):
            chosen = _axes.colors(axes[0], n)
            assert len(np.unique(chosen, axis=0)) == n
            assert np.linalg.norm(chosen[:, :3] - ground, axis=1).min() > 0.4
        assert len(plt.get_fignums()) == 1


def recorded() -> Any:
    program = cadiff.compile(lambda x: cadiff.sin(x) * x)
    program(1.0)
    return program


def without_gradients() -> Any:
    return minimize(rosenbrock, [1.1, 1.0], method="Nelder-Mead", callback=History())


def contours(f: Any = rosenbrock, **options: Any) -> Any:
    return plot.contours(f, **{"bounds": ((0, 1), (0, 1)), **options})


REFUSED: list[tuple[Any, Any, str]] = [
    (lambda: plot.sparsity(products), TypeError, "takes the point"),
    (lambda: plot.sparsity(products, np.ones(4), what="gradient"), ValueError, '"jacobian" or "h'),
    (lambda: plot.sparsity(3), TypeError, "a LinearMap, or a matrix, not int"),
    (lambda: plot.sparsity(np.ones(3)), TypeError, r"a matrix, not an array of shape \(3,\)"),
    (lambda: plot.convergence(minimize(rosenbrock, [1.0, 1.0])), TypeError, r"=History\(\)"),
    (lambda: plot.convergence(without_gradients(), what="gradient"), ValueError, "no gradients"),
    (lambda: plot.convergence([1.0], [2.0], labels=["a"]), ValueError, "1 labels for 2 runs"),
    (lambda: plot.convergence(np.ones((2, 2))), TypeError, "one number for each step"),
    (lambda: plot.convergence(), TypeError, "one run or more"),
    (lambda: contours(bounds=None), ValueError, "bounds, or a path"),
    (lambda: contours(bounds=((1, 0), (0, 1))), ValueError, "the lower one first"),
    (lambda: contours(bounds=((0, 1),)), ValueError, "two pairs"),
    (lambda: contours(coordinates=(0, 2)), ValueError, "no coordinate 2 of 2"),
    (lambda: contours(coordinates=(1, -1)), ValueError, "two different ones"),
    (lambda: contours(points=1), ValueError, "points is a whole number, 2 or more, not 1"),
    (lambda: contours(path="path"), TypeError, r"of shape \(steps, n\), .* not str"),
    (lambda: contours(lambda x: x), TypeError, "returns one number"),
    (lambda: contours(lambda x: cadiff.log(-1.0 - x[0])), ValueError, "finite at none"),
    (lambda: contours(lambda x: math.exp(x[0]), arrows=True), TypeError, "plain number"),
    (lambda: plot.graph(rosenbrock, np.ones(2), max_nodes=0), ValueError, "at least 1, not 0"),
    (lambda: plot.graph(cadiff.compile(rosenbrock)), ValueError, "no program yet"),
    (lambda: plot.graph(recorded(), what="hessian"), ValueError, "called 'hessian', but"),
    (lambda: plot.graph(rosenbrock, np.ones(2), what="value"), TypeError, "is of programs"),
    (lambda: plot.graph(3), TypeError, "not int"),
    (lambda: plot.profile(rosenbrock, np.ones(5), max_bars=0), ValueError, "max_bars"),
]


@pytest.mark.parametrize(("draw", "kind", "words"), REFUSED)
def test_what_cannot_be_drawn_is_refused(draw: Any, kind: Any, words: str) -> None:
    with pytest.raises(kind, match=words):
        draw()
