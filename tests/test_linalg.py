"""Linear algebra beyond the samples of the blocks: buffers, stacks, lists, types, singular points, errors."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
from checking import faithful

from autograd_frontend import RecordError, record

A = np.array([[3.0, 1.0, 0.2], [0.5, 2.0, -0.3], [0.1, 0.4, 1.5]])
S = A @ A.T
V = np.array([0.5, -1.0, 2.0])
RANKS = {
    k: np.cos(np.arange(np.prod(s, dtype=int) + 0.0)).reshape(s)
    for k, s in {
        "scalar": (),
        "vector": (3,),
        "matrix": (3, 3),
        "stack": (2, 3, 3),
        "stacks": (2, 1, 3, 3),
        "row": (1, 3, 3),
    }.items()
}
PAIRS = [(a, b) for a in RANKS for b in RANKS]


@pytest.mark.parametrize("a,b", PAIRS)
@pytest.mark.parametrize("name", ["matmul", "dot", "inner", "outer", "kron", "vecdot", "multiply"])
def test_every_pair_of_ranks(name, a, b):
    call = getattr(np, name)
    x, y = RANKS[a] + 0.1, RANKS[b] * 0.7
    try:
        call(x, y)
    except ValueError as error:
        with pytest.raises(ValueError) as caught:
            record(call_of(name))(x, y)
        assert str(caught.value) == str(error)
        return
    if np.size(call(x, y)) < 400:
        faithful(call_of(name), x, y)
    faithful(lambda x: call_of(name)(x, x) if np.shape(x) else call_of(name)(x, 2.0), x)


def call_of(name):
    return {
        "matmul": lambda a, b: np.matmul(a, b),
        "dot": lambda a, b: np.dot(a, b),
        "inner": lambda a, b: np.inner(a, b),
        "outer": lambda a, b: np.outer(a, b),
        "kron": lambda a, b: np.kron(a, b),
        "vecdot": lambda a, b: np.vecdot(a, b),
        "multiply": lambda a, b: a * b,
    }[name]


def test_operators_and_methods():
    def f(a, v):
        b = a @ a
        b @= a
        return b @ v, v @ b @ v, a.dot(v), v.dot(v), np.vdot(a, a.T), np.matvec(a, v), np.vecmat(v, a)

    faithful(f, A, V)


def test_numbers_times_arrays():
    faithful(
        lambda a, s: (np.dot(s, a), np.dot(a, s), np.inner(s, a), np.outer(s, a), np.kron(s, a), np.dot(s, s)), A, 0.7
    )


def test_lists_and_plain_operands():
    def f(v, s):
        return (
            np.dot([s, 2.0, v[0]], v),
            [[s, 1.0, 2.0]] @ v,
            np.array([1, 2, 3]) @ v,
            np.matmul(v, np.arange(9).reshape(3, 3)),
            np.linalg.multi_dot([[v, v], A, v]),
            np.einsum("i,i", [s, s, 1.0], v),
            np.cross([s, 1.0, 0.0], v),
        )

    faithful(f, V, 0.7)


def test_out():
    def f(a, v):
        b, c = np.empty((3, 3)), np.empty(3)
        np.matmul(a, a, out=b)
        first = b * b
        np.dot(b, v, c)
        np.dot(a, a, out=b)
        np.einsum("ij,kj->ki", a, b, out=b)
        np.outer(c, v, out=b[:, ::1])
        b += a
        np.matmul(b, v, out=(b[0],))
        return first, b, c

    faithful(f, A, V)


def test_written_after_use():
    def f(a, v):
        y = a @ v
        z = np.einsum("ij,jk->ik", a, a)
        u = np.linalg.solve(a, v)
        w = np.linalg.multi_dot([a, a, v])
        d = np.linalg.det(a)
        e = np.linalg.eigh(a)
        k = e.eigenvectors * 1.0
        e.eigenvalues[0] = 7.0
        e[1][:] = 0.0
        a[0] = 1.0
        v *= 2.0
        return y, z, u, w, d, np.abs(k), e[0]

    faithful(f, S, V)


def test_written_between_the_call_and_backward():
    a, v = A.copy(), V.copy()
    want = record(lambda a, v: np.einsum("ij,j", a, v) @ (a @ v) + np.linalg.multi_dot([v, a, v]))(a, v).backward()
    result = record(lambda a, v: np.einsum("ij,j", a, v) @ (a @ v) + np.linalg.multi_dot([v, a, v]))(a, v)
    a[:], v[:] = 0.0, 0.0
    assert oracle.same_bits(result.backward(), want)


def test_einsum_views():
    def f(x):
        y = x * 1.0
        d = np.einsum("ii->i", y)
        t = np.einsum("ij->ji", y)
        before = d * t[0]
        d *= 2.0
        t[0] = d
        return y * y, before

    faithful(f, A)


def test_einsum_forms():
    def f(a, v):
        return (
            np.einsum("ij, jk -> ik", a, a),
            np.einsum("ij,jk,kl->il", a, a, a, optimize=True),
            np.einsum("i...->...", a),
            np.einsum(a, [0, 1], v, [1]),
            np.einsum(a, [3, 40], [40, 3]),
            np.einsum("aab->b", a[None].repeat(3, 0)[:, :, :2]),
            np.einsum("ij,ij->", a, v[None]),
            np.einsum("...,...", a, v),
            np.einsum("i->", v),
            np.einsum("ij,k->", a, v),
            np.einsum("ii,i", a, v),
            np.einsum("ij,ij->j", a, v[None]),
            np.einsum("...j,j...->...", a, a),
            np.einsum(",", v[0], 2.0),
        )

    faithful(f, A, V)


def test_large_einsum_uses_matrix_products():
    x = np.cos(np.arange(200.0 * 200)).reshape(200, 200)
    g = record(lambda x, y: np.einsum("ij,jk->ik", x, y, optimize=True))(x, x + 1.0).backward()
    assert np.allclose(g.x, np.ones((200, 200)) @ (x + 1.0).T)


@pytest.mark.filterwarnings("ignore:Arrays of 2-dimensional vectors:DeprecationWarning")
def test_cross():
    def f(a, v, u):
        return (
            np.cross(a, v),
            np.cross(v, a, axisa=0, axisb=0, axisc=0),
            np.cross(a[:, None], a, axis=-1),
            np.cross(v, v * 2.0 + u[0]),
            np.cross(u, v),
            np.cross(v, u),
            np.cross(u, u[::-1]),
            np.cross(a[:, :2], u),
            np.linalg.cross(a, v),
            np.cross(a[:2], u, axisa=0),
            np.cross(a[:, :2], v),
        )

    faithful(f, A, V, V[:2])


def test_tensordot():
    x = np.cos(np.arange(24.0)).reshape(2, 3, 4)

    def f(x, v):
        return (
            np.tensordot(x, x.T, 1),
            np.tensordot(x, x),
            np.tensordot(x, v, (1, 0)),
            np.tensordot(v, v, 0),
            np.tensordot(x, x, ((0, 2), (0, 2))),
            np.tensordot(x, x, ([-1, 0], [2, 0])),
            np.tensordot(x, x, 3),
        )

    with pytest.raises(ValueError, match="shape-mismatch"):
        record(f)(x, V)
    faithful(
        lambda x, v: (
            np.tensordot(x, x.T, 1),
            *map(lambda a: np.tensordot(x, a, ([-1, 0], [2, 0])), [x, x * v[0]]),
            np.tensordot(x, v, (1, 0)),
            np.tensordot(x, x, 3),
        ),
        x,
        V,
    )


def test_systems():
    stack = np.stack([A, A.T + 0.1])

    def f(a, stack, v):
        return (
            np.linalg.solve(a, v),
            np.linalg.solve(a, stack),
            np.linalg.solve(stack, v),
            np.linalg.solve(stack, a),
            np.linalg.inv(stack),
            np.linalg.det(stack),
            np.linalg.slogdet(stack).logabsdet,
            np.linalg.slogdet(-a)[1] * v,
            np.linalg.matrix_power(a, 3),
            np.linalg.matrix_power(stack, -2),
            np.linalg.matrix_power(a, 0),
        )

    faithful(f, A, stack, V)


def test_one_solve_serves_both_operands(monkeypatch):
    from autograd_frontend.ops.plain import PLAIN

    calls = []
    monkeypatch.setattr(PLAIN, "solve", lambda a, b: calls.append(1) or np.linalg.solve(a, b))
    record(lambda a, b: np.linalg.solve(a, b))(A, V).backward()
    assert len(calls) == 1


def test_the_sign_of_slogdet_is_plain_data():
    def f(a):
        sign, logdet = np.linalg.slogdet(a)
        assert type(sign) is np.float64
        return sign * np.exp(logdet)

    faithful(f, A)
    faithful(f, -A)


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_determinant_of_singular_matrices(rank):
    x = sum((np.outer(V + k, A[k]) for k in range(rank)), np.zeros((3, 3)))
    cofactors = np.array(
        [[(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(x, i, 0), j, 1)) for j in range(3)] for i in range(3)]
    )
    x[np.abs(x) < 1e-300] = 0.0
    got = record(lambda x: np.linalg.det(x))(x).backward()
    assert np.allclose(got, cofactors, atol=1e-12)
    stacked = record(lambda x: np.linalg.det(x))(np.stack([A, x])).backward()
    assert np.allclose(stacked[0], np.linalg.det(A) * np.linalg.inv(A).T) and np.allclose(
        stacked[1], cofactors, atol=1e-12
    )


@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_reads_one_triangle(upper):
    x = S + np.triu(A, 1) * 9.0 if not upper else S + np.tril(A, -1) * 9.0
    g = faithful(lambda x: np.linalg.cholesky(x, upper=upper), x)
    assert not np.triu(g, 1).any() if not upper else not np.tril(g, -1).any()
    faithful(lambda x: np.linalg.cholesky(np.stack([x @ x.T, 2.0 * x @ x.T]), upper=upper), A)


@pytest.mark.parametrize("uplo", ["L", "U"])
def test_eigenvalues_and_vectors(uplo):
    def f(x):
        w, v = np.linalg.eigh(x, uplo)
        r = np.linalg.eigh(x, UPLO=uplo)
        return w, np.abs(v), np.linalg.eigvalsh(x, uplo) * w, r.eigenvectors**2 @ r.eigenvalues

    faithful(f, S, rtol=1e-6)
    faithful(lambda x: np.linalg.eigh(np.stack([x @ x.T, x.T @ x + np.diag(V)]))[1] ** 2, A, rtol=1e-6)


def test_equal_eigenvalues_have_a_sum():
    g = record(lambda x: np.linalg.eigh(x)[0].sum())(np.eye(3)).backward()
    assert np.allclose(g, np.eye(3))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.linalg.inv(x * 0.0),
        lambda x: np.linalg.solve(x, x[0, :2]),
        lambda x: np.linalg.cholesky(-x),
        lambda x: np.linalg.det(x[:2]),
        lambda x: x @ x[:2],
        lambda x: np.dot(x, x[:2]),
        lambda x: np.einsum("ij,jk->iz", x, x),
        lambda x: np.einsum("ijk", x),
        lambda x: np.einsum("ij,jk"),
        lambda x: np.tensordot(x, x[:2], 1),
        lambda x: np.cross(x, x[0, :1]),
        lambda x: x @ 2.0,
        lambda x: np.linalg.matrix_power(x, 0.5),
        lambda x: np.linalg.multi_dot([x]),
        lambda x: np.vdot(x, x[0]),
        lambda x: np.matmul(x, x, axes=5),
    ],
)
def test_a_wrong_call_raises_what_numpy_raises(call):
    with pytest.raises(Exception) as plain:
        call(S)
    with pytest.raises(plain.type) as recorded:
        record(call)(S)
    assert str(recorded.value) == str(plain.value)


def test_what_has_no_rule_is_refused():
    for f in (
        lambda x: np.linalg.svd(x[:2]),
        lambda x: np.linalg.qr(x),
        lambda x: np.linalg.eig(x),
        lambda x: np.matmul(x, x, axes=[(0, 1), (0, 1), (0, 1)]),
        lambda x: np.linalg.lstsq(x, x),
    ):
        with pytest.raises(RecordError, match="cannot be recorded|no derivative rule"):
            record(f)(A)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.longdouble])
def test_element_types(dtype):
    def f(a, b):
        return np.einsum("ij,j->i", a, b) + a @ b + np.dot(a, b) * np.inner(b, b) + np.tensordot(a, b, 1)

    g = record(f)(A.astype(dtype), V).backward()
    h = record(f)(A, V).backward()
    assert g.a.dtype == dtype and g.b.dtype == np.float64
    assert np.allclose(np.float64(g.a), h.a, rtol=1e-2) and np.allclose(g.b, h.b, rtol=1e-2)


def test_float32_systems():
    g = record(lambda a, b: np.linalg.solve(a, b) * np.linalg.det(a))(
        A.astype(np.float32), V.astype(np.float32)
    ).backward()
    assert g.a.dtype == g.b.dtype == np.float32


def test_empty_operands():
    def f(a, b):
        return a @ b, np.dot(b.T, a.T), np.einsum("ij,jk", b, a), np.linalg.det(a[:0]), np.linalg.inv(a[:0])

    faithful(f, np.zeros((3, 0)), np.zeros((0, 3)))
