"""Draws that are functions of their arguments."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import oracle
import pytest

from autograd_frontend import RecordError, ops, record

inf, nan = np.inf, np.nan


@pytest.mark.parametrize("shape", [(), 3, (2, 3), [4, 1], (0, 2), (np.int64(5),)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, "float32", np.dtype(float)])
def test_draws_are_numpys_philox(shape, dtype):
    for seed, node in ((0, 0), (7, 3), (2**64 - 1, 2**63), (np.uint64(2**63 + 1), 1)):
        got = ops.rand_uniform(shape, seed, node, dtype=dtype)
        key = np.array([seed, node], np.uint64)
        want = np.random.Generator(np.random.Philox(key=key)).random(shape, np.dtype(dtype))
        assert np.array_equal(got, want) and got.dtype == dtype and np.shape(got) == np.shape(want)
        assert isinstance(got, np.ndarray if np.shape(want) else np.floating)


def test_a_draw_changes_no_state_and_is_the_same_in_a_recording():
    np.random.seed(1)
    before = np.random.get_state()[1].tolist()
    u = ops.rand_uniform((2, 3), 5)
    assert np.random.get_state()[1].tolist() == before
    r = record(lambda x: x * ops.rand_uniform(x.shape, 5))(np.ones((2, 3)))
    assert oracle.same_bits(r.value, u) and oracle.same_bits(r.backward(), u)
    assert not np.array_equal(u, ops.rand_uniform((2, 3), 5, 1)) and not np.array_equal(u, ops.rand_uniform((2, 3), 6))


@pytest.mark.parametrize("p", [0.0, 1e-3, 0.3, 0.5, 0.999, 1.0])
def test_a_mask_is_one_where_the_draw_is_below(p):
    mask = ops.bernoulli_mask(p, (50, 40), 11, 2)
    assert mask.dtype == float and np.array_equal(mask, ops.rand_uniform((50, 40), 11, 2) < p)


@pytest.mark.parametrize("p, entry", [(1.0, 1), (1.5, 1), (inf, 1), (0.0, 0), (-0.0, 0), (-inf, 0), (nan, 0)])
@pytest.mark.parametrize("kind", [float, np.float64, np.float32, np.longdouble])
def test_the_ends_are_exact(p, entry, kind):
    mask = ops.bernoulli_mask(kind(p), (100,), 3)
    assert (mask == entry).all() and mask.dtype == np.asarray(kind(p)).dtype


def test_a_mask_has_the_type_of_the_probability():
    assert ops.bernoulli_mask(np.array(0.5, np.float32), (3,), 0).dtype == np.float32
    assert ops.bernoulli_mask(1, (3,), 0).tolist() == [1, 1, 1]
    assert type(ops.bernoulli_mask(0.9, (), 5)) is np.float64


def test_a_recorded_probability_is_read_and_gets_no_gradient():
    def dropped(x, p):
        return x * ops.bernoulli_mask(p, x.shape, 4) / p

    x = np.arange(1.0, 9.0)
    mask = ops.bernoulli_mask(0.5, (8,), 4)
    r = record(dropped)(x, 0.5)
    assert oracle.same_bits(r.value, dropped(x, 0.5))
    g = r.backward()
    assert g.x.tolist() == (mask / 0.5).tolist() and g.p == -np.sum(x * mask / 0.25)
    assert record(dropped)(x, np.array(0.5)).backward().p.shape == ()
    assert record(lambda x: x * ops.bernoulli_mask(x[0] / 2, (8,), 4)[0])(x).value.shape == (8,)


ERRORS = [
    (lambda: ops.rand_uniform((2,), -1), ValueError, "rand_uniform: seed is -1, expected at least 0"),
    (lambda: ops.rand_uniform((2,), 2**64), ValueError,
     "rand_uniform: seed is 18446744073709551616, expected less than 2**64"),
    (lambda: ops.rand_uniform((2,), 0, -3), ValueError, "rand_uniform: node is -3, expected at least 0"),
    (lambda: ops.rand_uniform((2,), 0, 2**64), ValueError,
     "rand_uniform: node is 18446744073709551616, expected less than 2**64"),
    (lambda: ops.rand_uniform((2, -1), 0), ValueError, "rand_uniform: a size in shape is -1, expected at least 0"),
    (lambda: ops.rand_uniform((2.0,), 0), TypeError, "rand_uniform: a size in shape is 2.0, expected a whole number"),
    (lambda: ops.rand_uniform((2,), 1.0), TypeError, "rand_uniform: seed is 1.0, expected a whole number"),
    (lambda: ops.rand_uniform((2,), 0, True), TypeError, "rand_uniform: node is True, expected a whole number"),
    (lambda: ops.rand_uniform((2,), 0, dtype=np.int32), TypeError,
     "rand_uniform: dtype is <class 'numpy.int32'>, expected float64 or float32"),
    (lambda: ops.bernoulli_mask(np.ones(2), (2,), 0), ValueError,
     "bernoulli_mask: keep_prob has shape (2,), expected a scalar"),
    (lambda: ops.bernoulli_mask([0.5], (2,), 0), ValueError,
     "bernoulli_mask: keep_prob has shape (1,), expected a scalar"),
    (lambda: ops.bernoulli_mask(Fraction(1, 2), (2,), 0), TypeError,
     "bernoulli_mask: keep_prob is a Fraction, expected a float"),
    (lambda: ops.bernoulli_mask("half", (2,), 0), TypeError,
     "bernoulli_mask: keep_prob is a str, expected an array or a number"),
    (lambda: ops.bernoulli_mask(0.5, (2,), -1), ValueError, "bernoulli_mask: seed is -1, expected at least 0"),
    (lambda: ops.bernoulli_mask(0.5, (-2,), 1), ValueError,
     "bernoulli_mask: a size in shape is -2, expected at least 0"),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, message", ERRORS)
def test_errors(call, kind, message):
    with pytest.raises(kind) as error:
        call()
    assert str(error.value) == message


@pytest.mark.parametrize("name", ["shape", "seed", "node"])
def test_a_recorded_setting_is_refused(name):
    def f(x):
        return x * ops.rand_uniform(**{"shape": 3, "seed": 0, "node": 0, name: x})

    with pytest.raises(RecordError) as error:
        record(f)(2.0)
    assert error.value.reason == f"{name} of rand_uniform is recorded, but it has to be plain data"
