"""Programs and transforms in other processes, by the ways in which Python starts these.

Functions that workers are to import stand in `worker_functions`, whose folder is put where they
look. Each way starts its workers once: two, but for forks one.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import cadiff
from cadiff import optimize
from cadiff.programs import rows

from ..helpers.processes import isolated

sys.path.insert(0, str(Path(__file__).parent))
import worker_functions as work

joblib = pytest.importorskip("joblib", reason="machines are tested where joblib and Dask are")

# A process with threads that forks is warned by Python 3.12 and later; tests have such threads.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

Map = Callable[..., list[Any]]  # map(f, list of tuples of arguments)
N_ROWS, STEP = 4000, 1000
X = np.array([0.7, -1.3, 0.4])


def by_executor(method: str) -> Iterator[Map]:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system does not start processes by {method}")
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
        yield lambda f, calls: [job.result() for job in [pool.submit(f, *c) for c in calls]]


def by_pool(_: str) -> Iterator[Map]:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        yield pool.starmap


def by_joblib(_: str) -> Iterator[Map]:
    with joblib.Parallel(n_jobs=2, batch_size=1) as pool:
        yield lambda f, calls: pool(joblib.delayed(f)(*c) for c in calls)


def by_dask(_: str) -> Iterator[Map]:
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, distributed.Client(cluster) as client:
        yield lambda f, calls: client.gather([client.submit(f, *c, pure=False) for c in calls])


WAYS = {
    "fork": by_executor,
    "forkserver": by_executor,
    "spawn": by_pool,
    "joblib": by_joblib,
    "dask": by_dask,
}


@pytest.fixture(scope="module", params=WAYS)
def pool(request: pytest.FixtureRequest) -> Iterator[Map]:
    yield from WAYS[request.param](request.param)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Any]:
    """A file of rows, and the same in memory."""
    rng = np.random.default_rng(3)
    inputs = rng.normal(size=(N_ROWS, work.WIDTH))
    labels = inputs @ np.arange(work.WIDTH) + rng.normal(size=N_ROWS) > 0.0
    table = np.column_stack([inputs, labels])
    path = tmp_path_factory.mktemp("data") / "rows.bin"
    table.tofile(path)
    return str(path), table


def ranges() -> list[tuple[int, int]]:
    return [(begin, begin + STEP) for begin in range(0, N_ROWS, STEP)]


# --- data in parts -------------------------------------------------------------------------------


def test_the_sum_of_parts_is_minimised(pool: Map, data: tuple[str, Any]) -> None:
    path, table = data
    program = cadiff.compile(work.loss)
    program.value_and_grad(np.zeros(work.WIDTH), table[:STEP, :-1], table[:STEP, -1])

    def by_parts(w: Any) -> tuple[Any, Any]:
        found = pool(work.loss_of_rows, [(program, path, *part, w) for part in ranges()])
        return sum(value for value, _ in found), sum(gradient for _, gradient in found)

    w = np.linspace(-1.0, 1.0, work.WIDTH)
    value, gradient = cadiff.value_and_grad(work.loss)(w, table[:, :-1], table[:, -1])
    assert_allclose(by_parts(w)[0], value, rtol=1e-12)
    assert_allclose(by_parts(w)[1], gradient, rtol=1e-12)

    options = {"maxiter": 4}
    found = optimize.minimize(by_parts, 0.0 * w, jac=True, method="L-BFGS-B", options=options)
    pool = lambda f, calls: [f(*call) for call in calls]  # noqa: E731
    alone = optimize.minimize(by_parts, 0.0 * w, jac=True, method="L-BFGS-B", options=options)
    assert found.nfev == alone.nfev > 4
    assert_allclose(found.x, alone.x, rtol=1e-12)
    whole = optimize.lbfgs(work.loss, 0.0 * w, (table[:, :-1], table[:, -1]), maxiter=4)
    assert_allclose(found.fun, whole.fun, rtol=1e-12)


def test_blocks_of_a_dask_array(data: tuple[str, Any]) -> None:
    array = pytest.importorskip("dask.array")
    _, table = data
    program = cadiff.compile(work.loss)
    w = np.linspace(-1.0, 1.0, work.WIDTH)
    blocks = array.from_array(table, chunks=(STEP, -1)).to_delayed().ravel()
    dask = pytest.importorskip("dask")
    parts = [dask.delayed(work.loss_of_block)(program, block, w) for block in blocks]
    total = dask.delayed(sum)(parts).compute(scheduler="threads", num_workers=2)
    value, gradient = cadiff.value_and_grad(work.loss)(w, table[:, :-1], table[:, -1])
    assert_allclose(total, np.append(gradient, value), rtol=1e-12)


# --- what is recorded ----------------------------------------------------------------------------


def test_nothing_is_recorded_again(pool: Map) -> None:
    functions = [
        work.with_primitive,
        work.with_factors,
        work.with_complex_numbers,
        work.with_branches,
    ]
    programs = [cadiff.compile(f) for f in functions]
    gradients = [program.grad(X) for program in programs]
    for (found, n_recorded), expected in zip(
        pool(work.gradient, [(program, X) for program in programs]), gradients, strict=True
    ):
        assert_array_equal(found, expected)
        assert n_recorded == 0


def test_programs_by_name_are_recorded_once_a_process(pool: Map, data: tuple[str, Any]) -> None:
    table = data[1][:10]
    args = (np.zeros(work.WIDTH), table[:, :-1], table[:, -1])
    found = pool(work.gradient_by_name, [args] * 6)
    assert {n_recorded for _, n_recorded in found} <= {0, 1}
    assert os.getpid() not in {process for process, _ in found}


def test_transforms(pool: Map) -> None:
    transforms = [
        cadiff.grad(work.with_factors),
        cadiff.value_and_grad(work.with_complex_numbers),
        cadiff.hessian(work.with_primitive),
        cadiff.compile(work.with_primitive).hessian,
        cadiff.jacobian(work.cube),
    ]
    found = pool(work.applied, [(f, X) for f in transforms])
    np.testing.assert_equal(found, [f(X) for f in transforms])
    (matrix,) = pool(work.applied, [(cadiff.sparse_jacobian(work.cube), X)])
    assert_array_equal(matrix.toarray(), np.diag(3.0 * X**2))


def test_errors_arrive(pool: Map) -> None:
    with pytest.raises(cadiff.NonFiniteError, match=r"sqrt\(0\.0\)(.|\n)*worker_functions\.py"):
        pool(work.applied, [(work.infinite, X)])


@pytest.mark.parametrize(
    "f",
    [
        cadiff.grad(work.of_wrong_shapes),
        cadiff.compile(work.of_wrong_shapes).grad,
        cadiff.grad(work.with_a_float),
        cadiff.grad(work.cube),
        work.stale,
    ],
)
def test_errors_pickle(f: Any) -> None:
    with pytest.raises((ValueError, TypeError, cadiff.StaleVarError)) as raised:
        f(X)
    copy = pickle.loads(pickle.dumps(raised.value))
    assert type(copy) is type(raised.value)
    assert len(str(copy)) > 40
    assert str(copy) == str(raised.value)


def test_what_a_script_has_decorated_is_sent_along() -> None:
    isolated(work.SCRIPT)


# --- forks ---------------------------------------------------------------------------------------


def test_a_fork_waits_for_no_other_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system does not fork")
    within, over = threading.Event(), threading.Event()
    points = np.ones((rows.ENOUGH_ROWS, 2))
    thread = threading.Thread(target=work.rows_mapped, args=(points,))
    reshape = rows.reshape

    def waiting(x: Any, shape: Any) -> Any:
        if threading.current_thread() is thread:
            within.set()
            over.wait(20.0)
        return reshape(x, shape)

    monkeypatch.setattr(rows, "reshape", waiting)
    thread.start()
    assert within.wait(20.0)
    child = multiprocessing.get_context("fork").Process(target=work.rows_mapped, args=(points,))
    child.start()
    child.join(20.0)
    child.kill()
    over.set()
    thread.join()
    assert child.exitcode == 0
