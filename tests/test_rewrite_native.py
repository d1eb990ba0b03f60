"""Programs run under the simplest `ops`, Python's own operators: everything is as in the plain function."""

import operator
import sys
import threading
import traceback
import types

import pytest
from test_rewrite import make

from autograd_frontend import rewrite
from autograd_frontend.rewrite import bind, is_program, place_of, program_of


class Index:
    def __getitem__(self, key):
        return key


class Native:
    """Python itself. Recording calls come with their site, which is noted with the name of the operation."""

    index = Index()

    def __init__(self):
        self.sites = []

    def of(self, f):
        return f

    def iter(self, values):
        return values

    def truth(self, x):
        return bool(x)

    def getitem(self, container, key, site):
        self.sites.append(("getitem", site))
        return container[key]

    def store(self, value, container, key, site):
        self.sites.append(("store", site))
        container[key] = value


def _add(name, function, sited=True):
    def method(self, *args):
        if sited:
            self.sites.append((name, args[-1]))
            args = args[:-1]
        return function(*args)

    setattr(Native, name, method)


for _name in "add sub mul floordiv mod pow matmul lshift rshift neg pos invert".split():
    _add(_name, getattr(operator, _name))
for _name in "iadd isub imul ifloordiv imod ipow imatmul ilshift irshift iand ior ixor".split():
    _add(_name, getattr(operator, _name))
for _name, _function in dict(
    div=operator.truediv, idiv=operator.itruediv, bitand=operator.and_, bitor=operator.or_, bitxor=operator.xor
).items():
    _add(_name, _function)
for _name in "lt le gt ge eq ne".split():
    _add(_name, getattr(operator, _name), sited=False)


def run(fn, *args, **kwargs):
    return bind(fn, Native())(*args, **kwargs)


def agree(fn, *args, **kwargs):
    plain, program = fn(*args, **kwargs), run(fn, *args, **kwargs)
    assert program == plain and type(program) is type(plain)
    return plain


class Log(list):
    """log("a", 1) notes "a" and gives 1."""

    def __call__(self, name, value):
        self.append(name)
        return value


class Box:
    """A container that notes what is read and written."""

    def __init__(self, log, name="A"):
        self.log, self.name, self.held = log, name, {}

    def __getitem__(self, key):
        self.log.append(f"get {self.name}[{key!r}]")
        return self.held.get(repr(key), 0)

    def __setitem__(self, key, value):
        self.log.append(f"set {self.name}[{key!r}]={value!r}")
        self.held[repr(key)] = value


ORDER = [
    "1 < 0 < log('never', 1)",
    "0 < log('once', 1) < 2 < log('last', 1) < log('never', 0)",
    "log('a', 1) < log('b', 2) in log('c', [2])",
    "log('x', None) is log('y', None) is not log('z', 1)",
    "log('or', 0) or log('and', 1) and log('end', 5)",
    "log('f', max)(log('a', 1), *log('b', [2, 3]), key=log('k', abs))",
    "log('A', A)[log('i', 1):log('j', 2)]",
    "[log('e', x) for x in log('xs', [1, 2]) if log('t', x) > 1 if not log('u', 0)]",
]
STATEMENTS = [
    "log('A', A)[log('i', 0)] = log('v', 1)",
    "log('A', A)[log('i', 0)] += log('v', 1)",
    "log('o', A).name += log('v', 'B')",
    "a = log('A', A)[log('i', 0)] = log('o', A).x = log('v', 1)",
    "A[log('i', 0)], a, A[log('j', a)] = log('v', [1, 2, 3]); log('a', a)",
    "a = 0; a, A[a] = log('v', [1, 2])",
    "a, (A[0], b), *A[1:2] = log('v', iter([1, 'xy', 3, 4])); log.append(repr((a, b)))",
    "for A[log('i', 0)], a in log('v', [(1, 2), (3, 4)]): log('body', a)",
    "A[0], A[1] = A[1], A[0]",
    "n = 1; log.append((n := n + 1) < n); log.append(n)",
    "del log('o', A).log",
    "a = b, *c = log('v', 'xyz'); log.append((a, b, c))",
]


@pytest.mark.parametrize("text", ["r = " + text + "\n    log.append(repr(r))" for text in ORDER] + STATEMENTS)
def test_order_of_evaluation_is_python_s(text):
    fn = make(f"def f(log, A):\n    {text}\n    return log\n")
    plain, program = Log(), Log()
    fn(plain, Box(plain))
    run(fn, program, Box(program))
    assert plain == program and plain


def test_slices():
    assert agree(make("def f(A, i): return A[i:], A[:-1], A[::2], A[i], A[1:i + 2]\n"), [1, 2, 3, 4], 1)


def test_a_call_that_rebinds_the_target_s_name_does_not_redirect_the_write():
    fn = make("""
        def f():
            A = first = [1, 2]
            def other():
                nonlocal A
                A = [0, 0]
                return 10
            A[1] += other()
            return first, A
        """)
    assert agree(fn) == ([1, 12], [0, 0])


class Base:
    def __init__(self, k=3):
        self.__k = k

    def energy(self, x, *more, scale=2.0):
        return self.__k * x * scale + sum(more)


class Child(Base):
    def energy(self, x, *more, **options):
        inner = [super(Child, self).energy(y) for y in more]
        return super().energy(x, *more, **options) + sum(inner) + self.inner()

    def inner(self):
        def also(me):
            return super().energy(1)

        return also(self) + sum(v for v in super().pair())

    def pair(self):
        return 1, 2

    @classmethod
    def made(cls, k):
        return super().__new__(cls), __class__.__name__, k + 1


Base.pair = lambda self: (3, 4)


def test_super_and_mangled_names():
    child = Child()
    assert agree(Base.energy, child, 2.0, 1.0, scale=3.0) == 19.0
    assert agree(Child.energy, child, 2.0, 5.0, scale=1.0)
    assert agree(Child.inner, child) == 13.0
    made = run(Child.made.__func__, Child, 1)
    assert type(made[0]) is Child and made[1:] == ("Child", 2)


def test_closures_share_the_cells():
    def outer():
        n = 1

        def f(x):
            nonlocal n
            n += 1
            return x * n

        def peek():
            return n

        def change(value):
            nonlocal n
            n = value

        return f, peek, change

    f, peek, change = outer()
    program = bind(f, Native())
    assert program(10) == 20 and peek() == 2
    change(5)
    assert program(10) == 60 and f(10) == 70 and program(10) == 80


def test_recursion_through_a_closure():
    def product(n):
        return 1 if n < 2 else n * product(n - 1)

    assert agree(product, 5) == 120


def test_defaults_and_names_are_the_function_s_own():
    marker = []

    def f(a, b=marker, *, c=marker):
        """Text."""
        return b is c

    program = bind(f, Native())
    assert isinstance(program, types.MethodType)
    inner = program.__func__
    assert program(1) is True
    assert inner.__defaults__ is f.__defaults__ and inner.__kwdefaults__ is f.__kwdefaults__
    assert (inner.__name__, inner.__qualname__, inner.__doc__, inner.__module__) == (
        f.__name__, f.__qualname__, f.__doc__, f.__module__)  # fmt: skip
    assert inner.__globals__ is f.__globals__
    f.__defaults__ = (None,)
    assert run(f, 1) is False


def test_keyword_named_ops_reaches_the_function():
    assert agree(make("def f(**k): return k\n"), ops=1) == {"ops": 1}
    assert agree(make("def f(ops): return ops + 1\n"), ops=1) == 2


def test_nested_functions_keep_their_qualified_names():
    def f():
        class K:
            def m(self):
                pass

        return (lambda: 0).__qualname__, K.__qualname__, K.m.__qualname__

    assert agree(f)


def test_generators_and_everything_else():
    fn = make('''
        def f(n):
            def numbers():
                got = yield from range(n)
                yield (yield got)
            result = [*numbers()]
            for i, c in enumerate("abc"):
                if i == 1: continue
                result.append(c * i)
            else:
                result += ["end"]
            try:
                assert n > 100, f"{n + 1:>5} {n=} {n * 2 = }"
            except AssertionError as error:
                result.append(str(error))
            finally:
                result.append("finally")
            match {"a": [n, -1], "b": 2}:
                case {"a": [k, -1], **rest} if k > 1:
                    result.append((k, rest))
            with open(__import__("os").devnull) as handle:
                result.append(handle.read())
            class C:
                y = n + 1
                def m(self, z=n * 2): return self.y + z
            return result, C().m(), {k: v for k, v in zip("ab", (1, 2))}, {x % 2 for x in range(5)}, 2 ** 3 ** 2
        ''')  # fmt: skip
    assert agree(fn, 3)
    generator = make("def f(n):\n    for i in range(n): yield i * i\n")
    assert list(run(generator, 4)) == [0, 1, 4, 9]


def failing(values, k):
    total = 0.0
    for value in values:
        total = total + (
            value /
            k)
    return total


def test_traceback_shows_the_user_s_line():
    def frames(call, *args):
        try:
            call(*args)
        except ZeroDivisionError as error:
            return [
                (f.filename, f.lineno, f.end_lineno, f.colno, f.end_colno, f.name, f.line)
                for f in traceback.extract_tb(error.__traceback__)
                if f.filename == __file__ and f.name == "failing"
            ]

    assert frames(failing, [1.0], 0.0) == frames(bind(failing, Native()), [1.0], 0.0) != []


def named(A, x):
    y = x * x
    o = types.SimpleNamespace()
    o.a = y + 1
    y -= 2
    A[0] = -y
    A[1] += x
    a, b = x + 1, x
    return (z := a * b) + 0 + z * 0


def test_sites_know_line_and_name():
    ops = Native()
    bind(named, ops)([1.0, 2.0], 3.0)
    start = named.__code__.co_firstlineno
    places = [(name, place_of(site)) for name, site in ops.sites]
    assert [(name, place.line - start, place.name) for name, place in places] == [
        ("mul", 1, "y"), ("add", 3, "o.a"), ("isub", 4, "y"), ("neg", 5, "A[0]"), ("store", 5, "A[0]"),
        ("getitem", 6, "A[1]"), ("iadd", 6, "A[1]"), ("store", 6, "A[1]"), ("add", 7, "a"), ("mul", 8, "z"),
        ("add", 8, ""), ("mul", 8, ""), ("add", 8, ""),
    ]  # fmt: skip
    assert all(p.filename == __file__ and p.function == "named" for _, p in places)
    assert places[0][1].text.strip() == "y = x * x"
    assert place_of(0).line == 0 and place_of(0).name == ""


def test_place_of_an_instruction():
    class Asking(Native):
        def mul(self, a, b, site):
            frame = sys._getframe(1)
            self.sites.append(place_of((frame.f_code, frame.f_lasti)))
            return a * b

    ops = Asking()
    bind(named, ops)([1.0, 2.0], 3.0)
    start = named.__code__.co_firstlineno
    places = [(place.line - start, place.name) for place in ops.sites if not isinstance(place, tuple)]
    assert places == [(1, "y"), (8, "z"), (8, "")]
    plain = place_of((failing.__code__, 0))
    assert (plain.filename, plain.line, plain.name) == (__file__, failing.__code__.co_firstlineno, "")


def test_is_program():
    def f():
        return lambda: [x for x in ()]

    program = bind(f, Native())
    assert is_program(program.__func__.__code__) and is_program(program().__code__)
    assert not is_program(f.__code__) and not is_program(f().__code__)


def test_threads_rewrite_once(monkeypatch):
    made = []
    real = rewrite._rewrite
    monkeypatch.setattr(rewrite, "_rewrite", lambda fn: made.append(fn) or real(fn))
    fn = make("def f(x):\n    return x * x + 1\n")
    barrier, programs = threading.Barrier(8), []

    def work():
        barrier.wait()
        programs.append(program_of(fn))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1 and len(programs) == 8 and len(set(map(id, programs))) == 1
