"""`grad`, `value_and_grad` and `vjp`."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize

from autograd_frontend import RecordError, RecordingClosed, grad, record, value_and_grad, vjp
from autograd_frontend.recording import ACTIVE

from . import oracle


def product(a, b=2.0, *, c=3.0):
    return a * b * c


@dataclasses.dataclass
class Model:
    w: object
    b: float = 1.0


@pytest.mark.parametrize("f", [product, record(product)])
def test_wrt_is_a_position_a_name_or_a_tuple_of_them(f):
    for wrt, expected in (
        (0, 15.0), (1, 6.0), (-1, 6.0), (-2, 15.0), ("a", 15.0), ("b", 6.0), ((0, 1), (15.0, 6.0)),
        ((1, 0), (6.0, 15.0)), (("b", "a"), (6.0, 15.0)), ((0,), (15.0,)), (("a", 1), (15.0, 6.0)),
        ((-1, 0), (6.0, 15.0)),
    ):  # fmt: skip
        assert grad(f, wrt)(2.0, 5.0) == expected
        assert value_and_grad(f, wrt)(2.0, 5.0) == (30.0, expected)


def test_keywords_are_found_by_name():
    assert grad(product, "c")(2.0, 5.0, c=7.0) == 10.0
    assert grad(product, ("c", "b", "a"))(2.0, c=7.0, b=5.0) == (10.0, 14.0, 35.0)
    assert grad(product, (0, "c"))(2.0, c=7.0) == (14.0, 4.0)
    assert grad(lambda **k: k["u"] * k["v"], "v")(u=2.0, v=3.0) == 2.0
    assert grad(lambda *a: a[0] * a[1] * a[2], (2, 0))(2.0, 3.0, 5.0) == (6.0, 15.0)


def test_only_the_chosen_arguments_are_recorded():
    f = record(lambda x, y: x * y)
    seen = []

    def g(x, y):
        seen.append((type(x) is float, type(y) is float))
        return x * y

    assert grad(g, 1)(2.0, 3.0) == 2.0
    assert grad(f, 0)(2.0, 3) == 3.0
    assert seen == [(True, True)]


WRONG = [
    (3, (1.0,), {}, ValueError, "wrt=3: the call has only 1 positional argument"),
    (-2, (1.0,), {}, ValueError, "wrt=-2: the call has only 1 positional argument"),
    ("z", (1.0,), {}, ValueError, "wrt='z': product has no parameter of that name, only a, b, c"),
    (0, (3,), {}, TypeError, "argument 0 of product is int, which is not differentiable; write 3.0"),
    ((0, 1), (3.0, 2), {}, TypeError, "argument 1 of product is int, which is not differentiable; write 2.0"),
    ((0, "c"), (3.0,), {"c": 4}, TypeError, "argument 'c' of product is int, which is not differentiable; write 4.0"),
    ((0, "b"), (3.0, True), {}, TypeError, "argument 1 of product is bool, which is not differentiable"),
    (0, (np.ones(2),), {}, TypeError,
     "grad needs a function with a scalar value, not an array of shape (2,); "
     "return a sum, or use record(f)(...).pullback(cotangent)"),
]  # fmt: skip


@pytest.mark.parametrize("wrt, args, kwargs, kind, message", WRONG)
def test_a_wrong_call_says_what_is_wrong(wrt, args, kwargs, kind, message):
    for transform in (grad, value_and_grad):
        with pytest.raises(kind) as error:
            transform(product, wrt)(*args, **kwargs)
        assert str(error.value) == message
    assert not ACTIVE


@pytest.mark.parametrize(
    "value, kind", [((1.0, 2.0), "tuple"), ([1.0], "list"), (None, "NoneType"), ("a", "str"), (3, "int")]
)
def test_a_value_that_is_no_scalar_is_named(value, kind):
    with pytest.raises(TypeError) as error:
        grad(lambda x: value)(1.0)
    article = "an" if kind == "int" else "a"
    assert str(error.value) == (
        f"grad needs a function with a scalar value, not {article} {kind}; "
        "return a sum, or use record(f)(...).pullback(cotangent)"
    )


def test_a_parameter_that_is_chosen_and_not_given():
    with pytest.raises(ValueError, match="wrt=1: the call does not give 'b': pass it"):
        grad(lambda a, b: a * b, 1)(1.0)


def test_a_wrong_wrt_is_found_before_the_function_runs():
    with pytest.raises(ValueError):
        grad(lambda x: 1 / 0, "z")(1.0)


def test_aux_comes_out_plain():
    def f(x):
        return (x * x).sum(), {"norm": np.sqrt(x @ x), "n": 3}

    x = np.array([3.0, 4.0])
    (value, aux), gradient = value_and_grad(f, has_aux=True)(x)
    assert oracle.same_bits((value, aux), f(x)) and gradient.tolist() == [6.0, 8.0]
    gradient, aux = grad(f, has_aux=True)(x)
    assert oracle.same_bits(aux, f(x)[1]) and gradient.tolist() == [6.0, 8.0]
    with pytest.raises(TypeError) as error:
        grad(lambda x: x * x, has_aux=True)(1.0)
    assert str(error.value) == "with has_aux=True the function has to return (value, aux)"
    with pytest.raises(TypeError, match="scalar value, not an array"):
        grad(lambda x: (x, 1), has_aux=True)(np.ones(2))


def test_gradients_keep_type_shape_and_dtype():
    for x in (1.5, np.float64(1.5), np.float32(1.5), np.longdouble(1.5), Fraction(1, 3), Decimal("0.5")):
        gradient = grad(lambda x: x * x)(x)
        assert type(gradient) is type(x) and gradient == 2 * x
    for dtype in (np.float16, np.float32, np.float64, np.longdouble):
        gradient = grad(lambda x: (x * x).sum())(np.ones((2, 3), dtype))
        assert gradient.dtype == dtype and gradient.shape == (2, 3)
    assert oracle.same_bits(grad(lambda x: x * x)(np.array(2.0)), np.array(4.0))


def test_a_zero_dimensional_or_one_entry_value_is_a_scalar_only_without_axes():
    assert grad(lambda x: np.sum(x * x, axis=0))(np.ones(2)).tolist() == [2.0, 2.0]
    assert grad(lambda x: np.asarray(x.sum()))(np.ones(2)).tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match=r"an array of shape \(1,\)"):
        grad(lambda x: x[:1])(np.ones(2))


def test_containers_give_containers():
    f = grad(lambda m, data: ((data["x"] @ m.w + m.b) ** 2).sum() * data["n"])
    gradient = f(Model(np.array([1.0, 2.0])), {"x": np.eye(2), "n": 3})
    assert type(gradient) is Model and gradient.w.tolist() == [12.0, 18.0] and gradient.b == 30.0
    assert grad(lambda t: t[0] * t[1][0])((2.0, [3.0, None])) == (3.0, [2.0, None])


def test_a_constant_has_a_zero_gradient():
    assert grad(lambda x: 7.5)(2.0) == 0.0
    assert value_and_grad(lambda x: np.float64(7.5))(np.ones(2))[1].tolist() == [0.0, 0.0]


def test_vjp_gives_the_value_and_a_pullback_to_use_once():
    x = np.array([1.0, 2.0])
    for f in (lambda x: x * x, record(lambda x: x * x)):
        value, pull = vjp(f, x)
        assert oracle.same_bits(value, x * x)
        assert pull(np.array([1.0, 10.0])).tolist() == [2.0, 40.0]
        with pytest.raises(RecordingClosed):
            pull(np.ones(2))
    value, pull = vjp(lambda x, y, *, k: {"p": x * y, "q": k}, 2.0, 3.0, k=4.0)
    assert value == {"p": 6.0, "q": 4.0}
    gradient = pull({"p": 1.0, "q": 10.0})
    assert gradient == (3.0, 2.0, 10.0) and gradient._fields == ("x", "y", "k")


def test_transforms_keep_name_and_documentation():
    def named(x):
        """Doc."""
        return x

    for f in (grad(named), value_and_grad(record(named))):
        assert (f.__name__, f.__doc__) == ("named", "Doc.")


def test_transforms_of_methods_lambdas_and_callable_objects():
    class Quadratic:
        def __init__(self, a):
            self.a = a

        def __call__(self, x):
            return self.a * x * x

        @record
        def method(self, x):
            return self.a * x * x

    q = Quadratic(3.0)
    assert grad(q)(2.0) == grad(q.__call__)(2.0) == grad(q.method)(2.0) == 12.0
    assert grad(lambda x: q(x) + q(2.0 * x))(2.0) == 60.0


def test_a_plain_derivative_may_be_used_as_a_constant_inside_a_recorded_function():
    assert record(lambda x: x * grad(lambda v: v * v * v)(2.0))(5.0).backward() == 12.0


def test_errors_of_the_function_come_out_and_leave_nothing():
    def f(x):
        return x / 0

    for call in (grad(f), value_and_grad(f), lambda x: vjp(f, x)):
        with pytest.raises(ZeroDivisionError, match="^float division by zero$"):
            call(1.0)
        assert not ACTIVE
    with pytest.raises(RecordError):
        grad(lambda x: np.unwrap(x).sum())(np.ones(2))
    assert not ACTIVE


def test_minimize_takes_value_and_gradient():
    def rosenbrock(x, a):
        return ((1.0 - x[:-1]) ** 2 + a * (x[1:] - x[:-1] ** 2) ** 2).sum()

    found = optimize.minimize(value_and_grad(rosenbrock), np.zeros(5), args=(100.0,), jac=True, method="L-BFGS-B")
    assert found.success
    np.testing.assert_allclose(found.x, np.ones(5), atol=1e-4)
    assert optimize.check_grad(rosenbrock, grad(rosenbrock), np.linspace(0.1, 0.5, 5), 100.0) < 1e-4
    root = optimize.root_scalar(value_and_grad(lambda x: x**3 - 2.0), x0=1.0, fprime=True, method="newton")
    assert root.root == pytest.approx(2.0 ** (1 / 3))


def test_positions_may_be_given_by_name():
    f = lambda a, b=2.0: a * a * b
    assert grad(f)(a=3.0) == 12.0
    assert grad(f, wrt=1)(3.0, b=4.0) == 9.0
    assert grad(f, wrt=(1, 0))(a=3.0, b=4.0) == (9.0, 24.0)


def test_what_is_not_differentiable_says_what_to_write():
    for x, text in ((np.array([1, 2]), "int64 array, which is not differentiable; write x.astype(float)"),
                    ([1, 2], "list of integers, which is not differentiable; write [1.0]")):  # fmt: skip
        with pytest.raises(TypeError) as error:
            grad(lambda x: x[0])(x)
        assert text in str(error.value)


def test_solvers_in_c_do_not_swallow_a_refusal():
    optimize = pytest.importorskip("scipy.optimize")
    for solve in (lambda f: optimize.brentq(f, 0.0, 2.0), lambda f: optimize.bisect(f, 0.0, 2.0)):
        with pytest.raises(RecordError, match="turned into a plain float by code that is not recorded"):
            grad(lambda p: solve(lambda z: np.cos(z) - p * z))(1.0)
