"""Calls by JAX's names, for JAX itself and for what has its names here.

`python tests/compat/jax_cases.py` prints JAX's own answers, where JAX is installed: they are kept
in `jax_answers.json` beside this file. It imports nothing of cadiff.
"""

# ruff: noqa: E501 - a call is a line

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np

X = np.array([0.5, -1.5, 2.0, 0.25])
A = np.array([[2.0, 0.5, 0.1], [0.5, 3.0, -0.4], [0.1, -0.4, 1.5]])
B = np.array([[1.0, 2.0, 0.5], [0.5, -1.0, 3.0]])

# --- one expression each; j is jax, n jax.numpy, k a key -----------------------------------------

EXPRESSIONS = """
j.random.PRNGKey(2**40 + 3)
j.random.PRNGKey(-5)
j.random.split(k, 3)
j.random.split(k, (2, 2))
j.random.fold_in(k, 7)
j.random.uniform(k, (3, 7))
j.random.uniform(k, (2,), n.float32, -1.0, 2.0)
j.random.normal(k, (5,))
j.random.normal(k, (2,), complex)
j.random.randint(k, (9,), 0, 10)
j.random.randint(k, (9,), -5, 2**40)
j.random.randint(k, (9,), 3, 300, n.int32)
j.random.bits(k, (3,), n.uint32) * 1.0
j.nn.initializers.glorot_normal()(k, (3, 2)), j.nn.initializers.he_uniform()(k, (2, 3, 2))
j.nn.initializers.normal()(k, (3,)), j.nn.initializers.uniform(2.0)(k, (2,)), j.nn.initializers.ones(k, (2,))
j.random.permutation(k, 25)
j.random.permutation(k, A, axis=1)
j.random.permutation(k, A, axis=1, independent=True)
j.random.choice(k, 20, (5,), replace=False)
j.random.choice(k, X, (6,))
j.random.choice(k, 3, (6,), p=n.array([0.2, 0.5, 0.3]))
j.random.choice(k, 3, (2,), False, n.array([0.2, 0.5, 0.3]))
j.random.bernoulli(k, 0.3, (9,)) * 1.0
j.random.categorical(k, A)
j.random.categorical(k, A, axis=0, shape=(4, 3))
j.random.exponential(k, (3,))
j.random.gumbel(k, (3,))
j.random.laplace(k, (3,))
j.random.logistic(k, (3,))
j.random.cauchy(k, (3,))
j.random.rademacher(k, (9,))
j.random.truncated_normal(k, -1.0, 0.5, (4,))
j.random.gamma(k, n.array([0.01, 0.3, 1.0, 40.0]), (50, 4)), j.random.gamma(k, 2)
j.random.loggamma(k, n.array([0.01, 0.3, 1.0, 40.0])), j.random.chisquare(k, n.abs(X))
j.random.beta(k, n.abs(X), 2.0), j.random.beta(k, 0.5, 2.0, (3,)), j.random.t(k, n.abs(X), (2, X.size))
j.random.dirichlet(k, n.abs(X)), j.random.dirichlet(k, n.abs(X), (2,))
j.random.poisson(k, n.array([0.0, 0.5, 9.9, 10.0, 50.0, 1e4]), (30, 6)), j.random.poisson(k, 3.0)
j.random.pareto(k, n.abs(X)), j.random.weibull_min(k, 2.0, 1.5, (4,)), j.random.rayleigh(k, n.abs(X))
j.random.lognormal(k, shape=(3,)), j.random.maxwell(k, (3,)), j.random.triangular(k, 0.0, 0.3, 1.0, (9,))
[j.image.resize(A, s, m) for s in ((5, 2), (3, 7)) for m in ("nearest", "linear", "cubic", "lanczos3", "lanczos5")]
j.image.resize(B, (5, 2), j.image.ResizeMethod.LINEAR, antialias=False), j.image.resize(A, (2, 2), "cubic", False)
j.grad(lambda s: n.sum(n.sin(j.image.scale_and_translate(A, (4, 3), (0, 1), s, n.array([0.1, -0.3]), "linear"))))(n.array([1.3, 0.8]))
j.random.geometric(k, n.array([0.1, 0.5, 0.9]), (5, 3))
j.grad(lambda a: n.sum(n.sin(j.random.gamma(k, a))))(n.array([0.01, 0.3, 1.0, 40.0]))
j.grad(lambda a: n.sum(n.sin(j.random.dirichlet(k, a))))(n.array([0.01, 0.3, 1.0, 40.0]))
j.jit(j.vmap(lambda k, a: j.random.loggamma(k, a)))(j.random.split(k, 4), n.array([0.01, 0.3, 1.0, 40.0]))
j.random.multivariate_normal(k, n.zeros(3), n.asarray(A), (2,))
j.nn.relu(X), j.nn.gelu(X), j.nn.gelu(X, approximate=False), j.nn.silu(X), j.nn.mish(X)
j.nn.elu(X), j.nn.celu(X, 2.0), j.nn.selu(X), j.nn.leaky_relu(X), j.nn.relu6(3.0 * X)
j.nn.softplus(X), j.nn.log_sigmoid(X), j.nn.soft_sign(X), j.nn.hard_tanh(X)
j.nn.hard_silu(X), j.nn.squareplus(X), j.nn.sparse_plus(X), j.nn.sparse_sigmoid(X)
j.nn.softmax(A), j.nn.log_softmax(A, axis=0), j.nn.logsumexp(A, axis=1)
j.nn.softmax(A, where=A > 0.0), j.nn.log_softmax(A, where=A > 2.0), j.nn.one_hot(n.array([2, 0, 5]), 3)
j.lax.rsqrt(X * X), j.lax.erf_inv(X / 3.0), j.lax.lgamma(X * X), j.lax.round(X)
j.lax.div(n.array([-7, 7]), n.array([2, -2])), j.lax.rem(n.array([-7, 7]), n.array([2, -2]))
j.lax.cumsum(n.asarray(A), 1, reverse=True), j.lax.cummax(n.asarray(A), 0)
j.lax.cumlogsumexp(n.asarray(A), 1), j.lax.cumprod(n.asarray(A), 0)
j.lax.top_k(n.asarray(X), 2), j.lax.sort_key_val(n.asarray(X), n.arange(4))
j.lax.dynamic_slice(n.asarray(A), (2, 1), (2, 2)), j.lax.dynamic_index_in_dim(n.asarray(A), 7, 1)
j.lax.dynamic_update_slice(n.asarray(A), n.ones((2, 2)), (2, 0))
j.lax.dynamic_update_index_in_dim(n.asarray(A), n.ones(3), 1, 1)
j.lax.slice(n.asarray(A), (0, 1), (3, 3), (2, 1)), j.lax.slice_in_dim(n.asarray(A), 0, 3, 2, 1)
j.lax.dot_general(n.ones((2, 3, 4)), n.arange(40.0).reshape(2, 5, 4), (((2,), (2,)), ((0,), (0,))))
j.lax.reduce(n.asarray(A), 1.0, lambda x, y: x * y, (1,)), j.lax.select_n(n.array([2, 0]), X[:2], X[2:], X[1:3])
j.lax.broadcast_in_dim(n.asarray(X), (2, 4, 3), (1,)), j.lax.broadcasted_iota(int, (2, 3), 1)
j.lax.associative_scan(n.matmul, n.stack([n.asarray(A) * t for t in (0.1, 0.5, 0.7, 0.3, 0.2)]))
j.lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), [n.asarray(X), n.ones(4)])
j.lax.associative_scan(n.add, n.arange(7.0), reverse=True), j.lax.map(n.sin, n.asarray(X))
n.asarray(X).at[n.array([0, 0, 2])].add(1.0), n.asarray(X).at[1].set(9.0), n.asarray(X).at[1:3].multiply(2.0)
n.asarray(A).at[n.array([0, 0]), n.array([1, 1])].min(-1.0), n.asarray(X).at[n.asarray(X) > 0].apply(n.log)
n.asarray(X).at[n.array([0, 9])].set(5.0, mode="drop"), n.asarray(X).at[n.array([0, 9])].get(mode="clip")
n.asarray(X).at[n.array([0, -9])].get(mode="fill", fill_value=3.0)
n.max(n.asarray(A), axis=[1]), n.zeros_like(j.ShapeDtypeStruct((2,), float))
n.nonzero(n.array([0, 3, 0, 4]), size=3)[0], n.clip(X, max=1.0), n.where(X > 0, X, 0.0)
n.take(n.asarray(A), n.array([0, 2]), axis=1), n.vectorize(n.dot, signature="(n),(n)->()")(A, X[:3])
j.jacfwd(lambda x: (x**2, n.sum(x)))(n.asarray(X)), j.jacrev(lambda x, y: x * y, (0, 1))(n.asarray(X), 2.0)
j.hessian(lambda d: n.sum(d["a"] ** 3) * d["b"])({"a": n.asarray(X), "b": 2.0})
j.value_and_grad(lambda x, y: (n.sum(x * y), 2.0 * y), has_aux=True)(n.asarray(X), 3.0)
j.jvp(lambda x: n.sin(x), (n.asarray(X),), (n.ones(4),)), j.vjp(n.sin, n.asarray(X))[1](n.ones(4))
j.linearize(n.exp, 0.5)[1](2.0), j.linear_transpose(lambda x: n.asarray(B) @ x, n.zeros(3))(n.ones(2))
j.vmap(j.vmap(lambda x, y: x * y, (None, 0)), (0, None), 1)(n.asarray(X), n.arange(3.0))
j.vmap(lambda d, y: d["a"] + y, ({"a": 0, "b": None}, 1))({"a": n.asarray(X), "b": 1.0}, n.asarray(A[:, :1]) * n.ones(4))
j.jit(j.grad(lambda x, p: n.sum(x**p)), static_argnums=1)(n.asarray(X), 3)
j.grad(j.checkpoint(lambda x: n.sum(n.sin(x) ** 2)))(n.asarray(X))
j.flatten_util.ravel_pytree({"b": n.asarray(A), "a": (1.0, n.asarray(X))})[0]
n.linalg.cholesky(n.asarray(A)), j.grad(lambda a: n.sum(n.linalg.cholesky(a)))(n.asarray(A))
[j.grad(lambda a: n.sum(B[0] * f(a)))(n.asarray(A)) for l in (j.scipy.linalg, j.lax.linalg) for f in (l.cholesky, lambda a: l.eigh(a)[0], lambda a: abs(l.cholesky(a + 0.1j * (a - a.T) * B[1])))]
j.jvp(lambda a: j.scipy.linalg.cho_factor(a, lower=True)[0], (n.asarray(A),), (n.arange(9.0).reshape(3, 3),))
j.grad(lambda a: n.sum(B @ j.scipy.linalg.solve(a, B.T, assume_a="pos")))(n.asarray(A)), j.scipy.linalg.cho_factor(-A)[0][1, 1], j.scipy.linalg.inv(0.0 * A)[0, 0]
j.scipy.special.logsumexp(n.asarray(A), axis=1), j.scipy.stats.norm.logpdf(X), j.scipy.linalg.expm(A)
j.scipy.optimize.minimize(lambda x: n.sum((x - 1.0) ** 2), n.zeros(2), method="BFGS").x.round(5)
j.eval_shape(lambda x: n.dot(x, x), j.ShapeDtypeStruct((3, 3), float)).shape
n.asarray(A).at[:, n.array([0, 9])].get(mode="fill"), n.asarray(A).at[..., 9].set(0.0, mode="drop"), n.arange(3).at[9].get(mode="fill")
n.asarray(A).at[n.array([-4, 1]), 0:2].add(1.0, mode="clip"), n.asarray(A).at[None, 1:, n.array([1, 9])].set(0.0, mode="drop")
j.lax.sort((n.array([2, 1, 2, 0]), n.asarray(X)), num_keys=2), j.lax.population_count(n.array([3, -7])), j.lax.reduce_max(n.asarray(A), axes=(0,))
j.lax.round(n.array([0.5, 1.5]), j.lax.RoundingMethod.TO_NEAREST_EVEN), j.lax.top_k(n.array([1.0, n.nan, 2.0, 2.0]), 3)
j.random.randint(k, (9,), -3, 4, n.int8), j.random.randint(k, (2,), 0, 2**32, n.uint32), j.random.categorical(k, n.asarray(X), shape=(3,), replace=False)
j.nn.initializers.truncated_normal(stddev=0.5)(k, (3,)), [j.grad(j.nn.relu6)(x) for x in (0.0, 1.0, 6.0)], j.grad(lambda x: n.clip(x, 0.0, 1.0))(1.0)
n.einsum("j..., ... -> j", n.asarray(A), n.asarray(X[:3])), n.repeat(n.asarray(X), n.array([1, 0, 2, 1]), total_repeat_length=6)
n.bincount(n.array([0, 1, 7]), length=3), n.argwhere(n.asarray(A) > 1, size=4, fill_value=-1), n.fill_diagonal(n.asarray(A), 0.0, inplace=False)
n.linalg.eigvalsh(n.asarray(A + n.triu(A, 1))), j.grad(lambda a: n.sum(j.scipy.linalg.eigh(a)[0] ** 3))(n.asarray(A))
j.jacfwd(lambda z: z**3, holomorphic=True)(n.asarray(X + 1j)), j.hessian(lambda z: z**3, holomorphic=True)(n.array([1.0 + 2.0j]))
j.scipy.sparse.linalg.cg(lambda v: {"a": 2.0 * v["a"], "b": 3.0 * v["b"]}, {"a": n.ones(2), "b": n.asarray(3.0)}, tol=1e-14)[0]
j.scipy.sparse.linalg.bicgstab(n.asarray(A), n.asarray(X[:3]), tol=1e-14)[0], j.scipy.sparse.linalg.gmres(lambda v: A @ v, n.asarray(X[:3]), tol=1e-14)[0]
[f(n.asarray(X), n.array([0, 2, 0, 7]), 4) for f in (j.ops.segment_sum, j.ops.segment_prod, j.ops.segment_max, j.ops.segment_min)]
j.ops.segment_sum(n.asarray(A), n.array([2, 0, -1])), j.ops.segment_max(n.arange(4), n.array([0, 2, 0, -1])), j.grad(lambda x: n.sum(j.ops.segment_sum(x, n.array([0, 2, 0, 7]), 4) ** 2))(n.asarray(X))
j.vmap(lambda: 3.0, axis_size=2)(), j.vmap(lambda d: {"a": 2.0 * d["a"]}, None, axis_size=2)({"a": n.asarray(X)}), j.vmap(lambda x, y: x + y, (0, None), axis_size=4)(n.asarray(X), 1.0)
n.take(n.asarray(X), n.array([0, 7, -1, -9]), mode="fill"), n.take(n.asarray(A), n.array([[0, 7]]), axis=-2, mode="fill", fill_value=5.0), n.take(n.arange(3), 9, mode="fill"), n.take(n.asarray(X), n.array([0, 7, -1]), mode="clip")
n.asarray(X).at[n.array([0, 0, 2])].apply(n.exp), n.asarray(A).at[n.array([0, 0]), n.array([1, 1])].apply(n.exp), n.asarray(X).at[n.array([0, 9])].apply(n.exp, mode="drop"), n.asarray(X).at[1].apply(n.exp)
j.scipy.linalg.cho_factor(n.asarray(A), lower=True)[0], j.scipy.linalg.cho_solve(j.scipy.linalg.cho_factor(n.asarray(A + n.triu(A, 1).T)), X[:3]), j.nn.log1mexp(n.array([1e-3, 0.5, 2.0, 40.0])), j.grad(j.nn.log1mexp)(0.5)
j.jacfwd(lambda d, y: [d["b"] * y[0], (d["a"] ** 2 * y[1], y[0])], (0, 1))({"b": 2.0, "a": n.asarray(X)}, [3.0, 4.0]), j.hessian(lambda y: [n.sin(y[0]) * y[1]], (0,))([1.0, 2.0])
j.grad(lambda t: n.sum(j.scipy.sparse.linalg.cg(lambda v: t * n.asarray(A) @ v, n.asarray(X[:3]), tol=1e-14)[0]))(2.0)
j.lax.linalg.triangular_solve(n.asarray(A), n.asarray(B.T), left_side=True, lower=True), j.lax.linalg.triangular_solve(n.asarray(A), n.asarray(B), transpose_a=True)
j.lax.linalg.eigh(n.asarray(A))[1], n.abs(j.lax.linalg.eig(n.asarray(A), compute_left_eigenvectors=False)[1]) * 1.0, j.lax.linalg.qr(n.asarray(B.T), full_matrices=False)[0] ** 2
j.jacrev(lambda z: n.abs(z) ** 2 * z.real[0])(n.asarray(B[0] + 1j * B[1])), j.jacfwd(lambda x: n.exp(1j * x) * x[0])(n.asarray(X))
j.jacrev(lambda z: n.conj(z) * z[0] + 1j * z.real, holomorphic=True)(n.asarray(B[0] + 1j * B[1]))
j.jacrev(j.jacrev(lambda z: n.sum(n.abs(z) ** 2 * z.real[0])), holomorphic=True)(n.asarray(B[0] + 1j * B[1]))
n.isfinite(n.linalg.solve(n.asarray([[[1.0, 2.0], [2.0, 4.0]], [[2.0, 0.0], [0.0, 3.0]]]), n.ones((2, 2, 1)))) * 1.0, n.isfinite(j.grad(lambda a: n.sum(n.linalg.solve(a, n.ones(2))))(n.asarray([[1.0, 2.0], [2.0, 4.0]]))) * 1.0
n.fft.fftfreq(5, dtype=n.float32), n.expand_dims(n.ones(3), range(2)), j.custom_batching.sequential_vmap(lambda x: n.sum(x))(n.asarray(X))
n.roots(n.array([1.0, -3.0, 2.0]), strip_zeros=False)
""".strip().splitlines()


# --- functions ---------------------------------------------------------------------------------


def kepler(j: Any) -> Any:
    def solve(e: Any) -> Any:
        step = lambda s: (s[0] - (s[0] - e * j.numpy.sin(s[0]) - 1.0), s[0])  # noqa: E731
        far = lambda s: j.numpy.abs(s[0] - s[1]) > 1e-14  # noqa: E731
        return j.lax.while_loop(far, step, (1.0, 0.0))[0]

    return [j.jit(solve)(e) for e in (0.1, 0.4)], j.vmap(solve)(j.numpy.array([0.2, 0.3]))


def filtered(j: Any) -> Any:
    n = j.numpy

    def loss(q: Any) -> Any:
        def step(carry: Any, y: Any) -> Any:
            m, p = carry
            p = p + q["drift"]
            gain = p / (p + q["noise"])
            m = m + gain * (y - m)
            return (m, (1.0 - gain) * p), m

        (_, p), means = j.lax.scan(step, (0.0, 1.0), n.sin(n.arange(20.0)), reverse=True)
        return n.sum(means**2) + p

    return j.jit(j.value_and_grad(loss))({"drift": 0.1, "noise": 0.5})


def sampled(j: Any) -> Any:
    n = j.numpy

    def step(q: Any, key: Any) -> Any:
        noise, accept = j.random.split(key)
        new = q + j.random.normal(noise, q.shape)
        ratio = 0.5 * (n.sum(q**2) - n.sum(new**2))
        q = n.where(n.log(j.random.uniform(accept)) < ratio, new, q)
        return q, q

    run = j.jit(lambda key: j.lax.scan(step, n.zeros(2), j.random.split(key, 30))[1])
    return [run(j.random.PRNGKey(seed)) for seed in (1, 2, 3)]


def trajectories(j: Any) -> Any:
    """A sampler that doubles its trajectories until they turn back: loops three deep."""
    n, lax, random = j.numpy, j.lax, j.random
    P = n.array([[2.0, 0.3], [0.3, 1.0]])
    slope = j.grad(lambda q: 0.5 * q @ P @ q + 0.1 * n.sum(n.cos(q)))

    def is_back(a: Any, b: Any) -> Any:
        return ((b[0] - a[0]) @ a[1] < 0.0) | ((b[0] - a[0]) @ b[1] < 0.0)

    def leaves(state: Any, sign: Any, depth: Any) -> Any:
        def turn(s: Any) -> Any:
            i, q, p, turned = s
            p = p - 0.1 * sign * slope(q)
            q = q + 0.2 * sign * p
            p = p - 0.1 * sign * slope(q)
            back = lax.cond(i > 0, lambda: is_back(state, (q, p)), lambda: False)
            return i + 1, q, p, turned | (back & (sign > 0.0))

        go_on = lambda s: (s[0] < 2**depth) & ~s[3]  # noqa: E731
        return lax.while_loop(go_on, turn, (0, *state, False))

    def step(q: Any, key: Any) -> Any:
        def turn(s: Any) -> Any:
            depth, key, left, right, last, _, count = s
            key, where, take = random.split(key, 3)
            to_right = random.bernoulli(where)
            start = lax.cond(to_right, lambda: right, lambda: left)
            i, q, p, turned = leaves(start, n.where(to_right, 1.0, -1.0), depth)
            left, right = lax.cond(to_right, lambda: (left, (q, p)), lambda: ((q, p), right))
            last = n.where((random.uniform(take) < 0.5) & ~turned, q, last)
            return depth + 1, key, left, right, last, turned | is_back(left, right), count + i

        begin = q, random.normal(key, q.shape)
        go_on = lambda s: (s[0] < 5) & ~s[5]  # noqa: E731
        out = lax.while_loop(go_on, turn, (0, key, begin, begin, q, False, 0))
        return out[4], (out[4], out[6])

    run = j.jit(lambda key: lax.scan(step, n.zeros(2), random.split(key, 12))[1])
    return [run(random.PRNGKey(seed)) for seed in (1, 2)]


def branches(j: Any) -> Any:
    n = j.numpy

    def f(x: Any, i: Any) -> Any:
        y = j.lax.switch(i, [n.sin, n.cos, lambda x: x**2], x)
        return j.lax.cond(x > 0.0, lambda v: v, lambda v: -v, y) + j.lax.fori_loop(
            0, 3, lambda t, v: v * x + t, 1.0
        )

    return [j.grad(f)(x, i) for x in (0.5, -0.5) for i in range(3)]


def own_tangent(j: Any) -> Any:
    n = j.numpy

    @j.custom_jvp
    def f(x: Any, y: Any) -> Any:
        return {"sum": n.sin(x) * y, "y": y}

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x, y), (dx, dy) = primals, tangents
        out = f(x, y)
        return out, {"sum": 2.0 * n.cos(x) * y * dx + n.sin(x) * dy, "y": dy}

    loss = lambda x, y: n.sum(f(x, y)["sum"] ** 2)  # noqa: E731
    point = n.asarray(X), 3.0
    return (
        *(j.grad(loss, (0, 1))(*point), j.jvp(loss, point, (n.ones(4), 1.0))),
        *(j.hessian(loss)(*point), j.jit(j.grad(loss))(*point)),
    )


def own_linear(j: Any) -> Any:
    """Whose rule calls the function itself on tangents."""
    n = j.numpy
    f = j.custom_jvp(lambda x, y: x * n.roll(y, 1))

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x, y), (dx, dy) = primals, tangents
        return f(x, y), f(dx, y) + f(x, dy)

    loss = lambda x, y: n.sum(f(x, y) ** 3)  # noqa: E731
    x, y = n.asarray(X), n.asarray(X[::-1])
    gradient = j.grad(loss, (0, 1))
    return (
        j.jvp(loss, (x, y), (y, x)),
        gradient(x, y),
        j.jit(gradient)(y, x),
        j.hessian(loss)(x, y),
    )


def counted(j: Any) -> Any:
    """Loops with an int32 among what goes round, and a dict in another order than their keys."""
    n = j.numpy

    def step(carry: Any, _: Any) -> Any:
        count = carry["count"] + 1
        return {"z": carry["z"] * 0.9**count, "count": count, "a": carry["a"] + 1.0}, count

    first = {"z": n.ones(2), "count": n.zeros((), n.int32), "a": n.zeros(3)}
    run = j.jit(lambda carry: j.lax.scan(step, carry, None, length=4))
    legacy = j.lax.cond(True, (2.0,), lambda x: x[0], 3.0, lambda x: x)
    return run(first), run(first), legacy, j.lax.fori_loop(n.array(0), n.array(3), n.add, 0.5)


def own_cotangent(j: Any) -> Any:
    n = j.numpy

    @j.tree_util.Partial(j.custom_vjp, nondiff_argnums=(0,))
    def f(scale: Any, tree: Any, y: Any) -> Any:
        return scale * n.sum(tree["a"] * y)

    def fwd(scale: Any, tree: Any, y: Any) -> Any:
        return f(scale, tree, y), (tree, y)

    def bwd(scale: Any, residuals: Any, g: Any) -> Any:
        tree, y = residuals
        return {"a": n.clip(g * y, -1.0, 1.0) * n.ones(4), "b": n.zeros(2)}, scale * g * n.sum(
            tree["a"]
        )

    f.defvjp(fwd, bwd)
    tree = {"a": n.asarray(X), "b": n.ones(2)}
    return j.grad(f, (1, 2))(2.0, tree, 3.0), j.jit(j.grad(lambda y: f(2.0, tree, y) ** 2))(3.0)


def roots(j: Any) -> Any:
    n = j.numpy

    def root(a: Any) -> Any:
        newton = lambda f, x: j.lax.fori_loop(0, 30, lambda _, x: x - f(x) / j.grad(f)(x), x)  # noqa: E731
        return j.lax.custom_root(lambda x: x**3 - a, 1.0, newton, lambda g, y: y / g(1.0))

    def solved(b: Any) -> Any:
        a = n.asarray(A) + b[0] * n.eye(3)
        solve = lambda matvec, b: j.lax.stop_gradient(n.linalg.solve(a, b))  # noqa: E731
        return j.lax.custom_linear_solve(lambda x: a @ x, b, solve, solve)

    b = n.asarray(X[:3])
    return root(2.0), j.grad(root)(2.0), solved(b), j.jacrev(solved)(b)


def beyond(j: Any) -> Any:
    """Loops whose last turns assign behind the end of an array, and are replayed."""
    n = j.numpy

    def summed(x: Any, mode: str | None) -> Any:
        turn = lambda k, h: h.at[k + 1].set(h[k] * x[k] + 0.1, mode=mode)  # noqa: E731
        return n.sum(j.lax.fori_loop(0, 4, turn, n.ones(4)) ** 2)

    def added(x: Any) -> Any:
        turn = lambda h, k: (h.at[n.array([0, 1]) + k].add(x[k]), h[0])  # noqa: E731
        return n.sum(j.lax.scan(turn, n.zeros(4), n.arange(4))[0] ** 2)

    programs = [j.jit(j.value_and_grad(summed), static_argnums=1), j.jit(j.grad(added))]
    calls = [lambda x: [programs[0](x, mode) for mode in (None, "drop")], programs[1]]
    return [f(c * n.asarray(X)) for f in calls for c in (1.0, 2.0, 3.0)]


def stepped(j: Any) -> Any:
    """Optimisers' steps, and gradients that are made shorter."""
    n, o = j.numpy, j.example_libraries.optimizers
    x = {"b": n.asarray(X), "a": 3.0}

    def last(rule: Any, *options: float) -> Any:
        init, update, params = rule(o.exponential_decay(0.1, 10, 0.9), *options)
        step = j.jit(lambda i, s: update(i, j.tree.map(lambda x: 2.0 * x, params(s)), s))
        state = init(x)
        for i in range(5):
            state = step(i, state)
        return params(state)

    found = [last(getattr(o, name)) for name in ("sgd", "adagrad", "rmsprop", "adam")]
    return found, last(o.momentum, 0.9), last(o.nesterov, 0.9), o.l2_norm(x), o.clip_grads(x, 1.0)


def complex_turns(j: Any) -> Any:
    """Loops whose numbers are complex, in programs, and slopes through them."""
    n, lax = j.numpy, j.lax
    z = n.asarray([1.0, 2.0j, 0.5 - 1.0j])

    def scanned(x: Any) -> Any:
        turn = lambda c, k: ((c[0] * k + n.conj(c[0]) * x, c[1] + 1), (c[0][0], c[1]))  # noqa: E731
        rows = 0.9 * n.exp(1j * n.arange(40.0))
        (last, count), (ys, ks) = lax.scan(turn, (z, 0), rows)
        return n.sum(n.abs(last) ** 2) + n.abs(n.sum(ys)) + n.sum(ks) * count

    def root(x: Any) -> Any:
        step = lambda s: (s[0] - (s[0] ** 3 - 1.0) / (3.0 * s[0] ** 2), s[1] + 1)  # noqa: E731
        return lax.while_loop(lambda s: n.abs(s[0] ** 3 - 1.0) > 1e-9, step, (x + 0.5j, 0))

    def chosen(x: Any) -> Any:
        return n.abs(lax.cond(x > 1.0, lambda z: z * 2j, lambda z: z + x, x * 1j)) ** 2

    fori = lambda x: n.abs(lax.fori_loop(0, 30, lambda i, z: z * z * 0.1 + x * 1j, 0.1 + 0j))  # noqa: E731
    programs = [j.jit(f) for f in (scanned, root, j.vmap(root), fori, chosen)]
    programs += [j.jit(j.grad(f)) for f in (scanned, fori, chosen)]
    places = [X if f is programs[2] else 0.7 for f in programs]
    return [f(x * c) for f, x in zip(programs, places, strict=True) for c in (1.0, 1.5, 2.0)]


def parts_of_programs(j: Any) -> Any:
    """Functions with rules of their own, which are not their derivatives, in programs."""
    n = j.numpy
    pair = j.custom_vjp(lambda x, y: (x * y, n.sin(y)))
    pair.defvjp(
        lambda x, y: (pair(x, y), (x, y)),
        lambda r, g: (g[0] * r[1] * 2.0, g[0] * r[0] + g[1] * n.cos(r[1])),
    )
    turned = j.custom_jvp(lambda z: z**2)
    turned.defjvp(lambda z, dz: (turned(*z), 3.0 * z[0] * dz[0]))
    root = j.custom_jvp(lambda x: n.sqrt(x) * n.asarray([1.0, 2.0]))
    root.defjvp(lambda x, dx: (root(*x), 0.4 * dx[0] / n.sqrt(x[0]) * n.asarray([1.0, 2.0])))

    def f(x: Any) -> Any:
        z = x + 1j * x**2 + n.arange(2)
        parts = pair(x, x**2)[0] * pair(x, x)[1], n.sum(n.abs(turned(z)) ** 2)
        return n.sum(root(x) ** 3) + parts[0] + parts[1]

    turn = lambda c, k: (c + f(0.1 * c) * 0.01, f(k))  # noqa: E731
    whole = lambda x: j.lax.scan(turn, x, n.asarray(X) ** 2 + 0.5)  # noqa: E731
    ways = (f, j.grad(f), j.grad(j.grad(lambda x: n.sum(root(x) ** 2))), whole)
    rows = [lambda x, w=w: j.vmap(w)(x * (n.asarray(X) ** 2 + 0.5)) for w in ways[:2]]
    return [j.jit(w)(x) for w in (*ways, *rows) for x in (1.1, 1.3, 1.7)]


def windows(j: Any) -> Any:
    """Convolutions of channels, their gradients, and reductions over windows."""
    n, lax = j.numpy, j.lax
    waves = lambda *shape: n.sin(n.arange(1.0, math.prod(shape) + 1.0)).reshape(shape)  # noqa: E731
    x, kernel = waves(2, 4, 5, 6), waves(2, 4, 3, 2)
    last = lambda a, axes: n.transpose(a, axes)  # noqa: E731
    ways = (
        ((1, 1), "SAME", None, None),
        ((2, 3), "SAME_LOWER", None, (2, 1)),
        ((1, 1), [(1, 2), (0, 1)], (2, 1), (1, 2)),
        ((1, 2), [(-1, 2), (0, -1)], None, None),
    )
    found = []
    for way in ways:
        f = lambda x, k, way=way: lax.conv_general_dilated(x, k, *way)  # noqa: E731
        found += [
            f(x, kernel),
            lax.conv_general_dilated(x, waves(2, 2, 3, 2), *way, feature_group_count=2),
        ]
        found += j.jit(j.grad(lambda x, k, f=f: n.sum(f(x, k) ** 2), (0, 1)))(x, kernel)
    texts = ("NHWC", "HWIO", "NCHW")
    found.append(
        lax.conv_general_dilated(
            last(x, (0, 2, 3, 1)),
            last(kernel, (2, 3, 1, 0)),
            (2, 1),
            "VALID",
            dimension_numbers=texts,
        )
    )
    for padding in ("SAME", "VALID"):
        back = last(x, (0, 2, 3, 1)), waves(3, 2, 5, 4), (1, 3), padding
        found.append(lax.conv_transpose(*back, transpose_kernel=True))
    pool = lambda x: lax.reduce_window(x, -n.inf, lax.max, (1, 1, 3, 3), (1, 1, 2, 2), "SAME")  # noqa: E731
    found += [pool(x), j.grad(lambda x: n.sum(pool(x) ** 2))(x)]
    found.append(lax.reduce_window(x, 0.0, lax.add, (1, 1, 3, 2), (1, 1, 1, 2), "SAME"))
    return [*found, lax.pad(x, 1.5, ((0, 0, 0), (1, -1, 0), (2, 1, 2), (-1, 0, 1)))]


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    f.__name__: f
    for f in (
        *(kepler, filtered, sampled, trajectories, branches, counted),
        *(own_tangent, own_linear, own_cotangent, roots, beyond, stepped),
        *(complex_turns, parts_of_programs, windows),
    )
}


def answers(j: Any) -> dict[str, list[Any]]:
    """Shapes and numbers of all results, by what was called."""
    names = {"j": j, "n": j.numpy, "k": j.random.PRNGKey(42), "X": X, "A": A, "B": B}
    results = {text: eval(text, names) for text in EXPRESSIONS}
    results |= {name: f(j) for name, f in FUNCTIONS.items()}
    found = {}
    for name, result in results.items():
        leaves = [np.asarray(x) for x in j.tree_util.tree_leaves(result)]
        flat = [x.ravel().view(float) if x.dtype == complex else x.astype(float) for x in leaves]
        found[name] = [[*x.shape, *y.ravel().tolist()] for x, y in zip(leaves, flat, strict=True)]
    return found


if __name__ == "__main__":
    import jax
    import jax.example_libraries.optimizers
    import jax.flatten_util
    import jax.scipy.optimize
    import jax.scipy.sparse.linalg
    import jax.scipy.stats

    jax.config.update("jax_enable_x64", True)
    rows = (f"{json.dumps(name)}: {json.dumps(found)}" for name, found in answers(jax).items())
    print("{", ",\n".join(rows), "}", sep="\n")
