"""Cases: classes of the user's, operators, protocols."""

from __future__ import annotations

import functools
import operator

import numpy as np

from .language import VECTOR, case


class Number:
    """Overloads what can be overloaded; computes with NumPy, so that its methods have to be recorded."""

    scale = 2.0

    def __init__(self, v):
        self.v = v

    def of(self):
        return np.sin(self.v) * self.scale

    @property
    def square(self):
        return np.square(self.v)

    @square.setter
    def square(self, value):
        self.v = np.sqrt(value)

    @staticmethod
    def thrice(v):
        return v * 3.0

    @classmethod
    def made(cls, v):
        return cls(v * cls.scale)

    def __add__(self, other):
        return type(self)(self.v + (other.v if isinstance(other, Number) else other))

    def __radd__(self, other):
        return type(self)(np.exp(other) + self.v)

    def __mul__(self, other):
        return type(self)(self.v * (other.v if isinstance(other, Number) else np.cos(other)))

    def __rmul__(self, other):
        return type(self)(self.v * other)

    def __sub__(self, other):
        return NotImplemented

    def __rsub__(self, other):
        return type(self)(other - self.v)

    def __pow__(self, other):
        return type(self)(self.v**other)

    def __matmul__(self, other):
        return self.v @ other

    def __neg__(self):
        return type(self)(-self.v)

    def __abs__(self):
        return np.abs(self.v)

    def __iadd__(self, other):
        self.v = self.v + np.tanh(other)
        return self

    def __getitem__(self, i):
        return np.sin(self.v * i)

    def __setitem__(self, i, value):
        self.v = self.v + i * value

    def __call__(self, y):
        return np.sin(self.v) * y + 1.0

    def __bool__(self):
        return bool(np.sin(self.v) > 0.0)

    def __len__(self):
        return 3

    def __iter__(self):
        yield np.sin(self.v)
        yield self.v * 2.0

    def __lt__(self, other):
        return np.sin(self.v) < np.sin(other.v)

    def __eq__(self, other):
        return self.v == other.v

    def __hash__(self):
        return 1

    def __contains__(self, x):
        return bool(np.sin(self.v) < x)

    def __float__(self):
        return float(np.sin(self.v))

    def __enter__(self):
        return np.sin(self.v)

    def __exit__(self, *_):
        self.v = np.cos(self.v)
        return True


class Derived(Number):
    scale = 5.0

    def __init__(self, v):
        super().__init__(np.exp(v))
        self.__hidden = v

    def of(self):
        return super().of() + self.__hidden * np.sin(self.__hidden)


class Reflected:
    def __rsub__(self, other):
        return Number(np.sin(other.v))


@case(0.7)
def methods_and_super(x):
    d = Derived(x)
    return d.of() + Number(x).of() + Number.of(d) + Derived.made(x * 0.1).v


@case(0.7)
def properties_static_and_class_methods(x):
    n = Number(x)
    before = n.square
    n.square = x * 3.0
    return before * n.square + n.v + Number.thrice(x) + n.thrice(x) + getattr(n, "square") + Number.made(x).v  # noqa: B009


@case(0.7)
def overloaded_operators(x):
    a, b = Number(x), Derived(x)
    c = b + a
    d = 2.0 * a * x + x * a
    e = x - a
    return c.v * d.v + e.v + (a**2).v + (-a).v + abs(b) + (x + a).v + sum([a, b]).v + operator.add(a, a).v


@case(0.7)
def overloaded_in_place(x):
    a = Number(x)
    alias = a
    a += x
    a[2] = x * x
    a -= Reflected()  # Number has no such operator
    return alias.v * a.v


@case(0.7)
def overloaded_subscript_call_and_length(x):
    a = Number(x)
    return a[2] + a(x) + a(2.0) * len(a) + (1.0 if 0.9 in a else 2.0) * x


@case(0.7)
def overloaded_truth_and_order(x):
    a, b = Number(x), Number(x * 1.5)
    first = sorted([b, a])[0]
    return (x if a else 1 / 0) * (2.0 * x if a < b else 1 / 0) + first.v + max(a, b).v + (x if a != b else 0.0)


@case(0.7)
def overloaded_iteration(x):
    a, b = Number(x)
    return a * b + sum(Number(x)) + [*Number(x)][1] + sum(v * v for v in Number(x)) + max(Number(x))


@case(0.7)
def overloaded_context_and_conversion(x):
    n = Number(x)
    with n as s:
        s = s * 2.0
        raise ValueError
    return n.v * s + float(Number(x))


@case(VECTOR)
def matrix_product_of_objects(x):
    return Number(x) @ x


@case(0.7)
def classes_defined_inside(x):
    class Outer:
        factor = x * x

        def __init__(self):
            self.v = x

        def f(self):
            return np.sin(self.v) * self.factor

        class Inner:
            def g(self, v):
                return v * Outer.factor

    class Sub(Outer):
        __slots__ = ("w",)

        def f(self):
            self.w = 2.0
            return super().f() * self.w

    return Sub().f() + Outer.Inner().g(x) + Outer().f()


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a, self.b = a, b

    def product(self):
        return np.sin(self.a) * self.b


class Made:
    def __new__(cls, v):
        made = super().__new__(cls)
        made.early = np.square(v)
        return made

    def __init__(self, v):
        self.late = np.sin(v)


class Doubling(type):
    def __call__(cls, v):
        return super().__call__(v * 2.0)


class Doubled(metaclass=Doubling):
    def __init__(self, v):
        self.v = np.sin(v)


@case(0.7)
def slots_new_and_metaclasses(x):
    made = Made(x)
    return Slotted(x, x * x).product() + made.early * made.late + Doubled(x).v


class Descriptor:
    def __get__(self, instance, owner):
        return np.sin(instance.v)

    def __set__(self, instance, value):
        instance.v = np.cos(value)


class Attributes:
    described = Descriptor()

    def __init__(self, v):
        self.v = v

    @functools.cached_property
    def cached(self):
        return np.exp(self.v)

    def __getattr__(self, name):
        if name == "made_up":
            return np.tanh(self.v)
        raise AttributeError(name)


@case(0.7)
def descriptors_and_attributes(x):
    a = Attributes(x)
    first, cached, made_up = a.described, a.cached * a.cached, a.made_up
    a.described = x * 2.0
    setattr(a, "w", x * 3.0)  # noqa: B010
    missing = getattr(a, "nothing", x)
    return first * a.v + cached + made_up + a.w + missing + hasattr(a, "w")


@case(0.7)
def iterators_and_sequences(x):
    class Steps:
        def __init__(self, v):
            self.v, self.n = v, 0

        def __iter__(self):
            return self

        def __next__(self):
            if self.n > 2:
                raise StopIteration
            self.n += 1
            self.v = np.sin(self.v)
            return self.v

    class Sequence:
        def __getitem__(self, i):
            if i > 2:
                raise IndexError
            return np.sin(x * i)

    total = 0.0
    for v in Steps(x):
        total += v * v
    return total + sum(Steps(x)) + sum(Sequence()) + sum(v for v in Steps(x)) + list(Steps(x))[1]


@case(0.7)
def decorator_classes_and_dispatch(x):
    class Counting:
        def __init__(self, f):
            self.f, self.n = f, 0

        def __call__(self, *args):
            self.n += 1
            return self.f(*args) * self.n

    @Counting
    def f(v):
        return np.sin(v)

    @functools.singledispatch
    def g(v):
        return np.sin(v)

    @g.register
    def _(v: int):
        return v * 2.0

    return f(x) + f(x) * g(x) + g(2) * x


@case(0.7)
def sums_and_reductions_of_objects(x):
    objects = [Number(x), Number(x * x), Derived(x)]
    return sum(objects).v + functools.reduce(operator.add, objects).v + sum(o.of() for o in objects)
