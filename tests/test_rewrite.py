"""The rewriter's table, construct by construct: before and after, and what is refused."""

import linecache
import textwrap

import pytest

from autograd_frontend.errors import RecordError
from autograd_frontend.rewrite import program_of

count = 0


def make(text, name="f", **names):
    """Runs source text under a file name of its own that linecache knows, as a notebook does; gives the function."""
    global count
    count += 1
    filename = f"<cell {count} of test_rewrite>"
    text = textwrap.dedent(text)
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    namespace = {"__name__": "cell", **names}
    exec(compile(text, filename, "exec", dont_inherit=True), namespace)  # noqa: S102
    return namespace[name]


def program(body, parameters="x"):
    """The body of the program of a function with this body, without indentation."""
    fn = make(f"def f({parameters}):\n" + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ") + "\n")
    first, *lines = program_of(fn).source.splitlines()
    assert first.startswith("def f(ops, ")
    return textwrap.dedent("\n".join(lines))


OPERATORS = [
    ("a + b", "ops.add(a, b)"), ("a - b", "ops.sub(a, b)"), ("a * b", "ops.mul(a, b)"), ("a / b", "ops.div(a, b)"),
    ("a // b", "ops.floordiv(a, b)"), ("a % b", "ops.mod(a, b)"), ("a ** b", "ops.pow(a, b)"),
    ("a @ b", "ops.matmul(a, b)"), ("a << b", "ops.lshift(a, b)"), ("a >> b", "ops.rshift(a, b)"),
    ("a & b", "ops.bitand(a, b)"), ("a | b", "ops.bitor(a, b)"), ("a ^ b", "ops.bitxor(a, b)"),
    ("-a", "ops.neg(a)"), ("+a", "ops.pos(a)"), ("~a", "ops.invert(a)"), ("not a", "not a"),
    ("-1", "-1"), ("+2.5", "+2.5"), ("-1j", "-1j"), ("-a ** 2", "ops.neg(ops.pow(a, 2))"),
    ("a < b", "ops.lt(a, b)"), ("a <= b", "ops.le(a, b)"), ("a > b", "ops.gt(a, b)"), ("a >= b", "ops.ge(a, b)"),
    ("a == b", "ops.eq(a, b)"), ("a != b", "ops.ne(a, b)"), ("a is b", "a is b"), ("a is not b", "a is not b"),
    ("a in b", "a in b"), ("a not in b", "a not in b"), ("a + 1 in b", "ops.add(a, 1) in b"),
]  # fmt: skip
EXPRESSIONS = [
    ("(a + b) * c", "ops.mul(ops.add(a, b), c)"),
    ("a < b < c", "(ops.lt(a, b) and ops.lt(b, c))"),
    ("a < 1 < c", "(ops.lt(a, 1) and ops.lt(1, c))"),
    ("a < f() <= c", "(ops.lt(a, (_t1 := ops.of(f)())) and ops.le(_t1, c))"),
    ("a < b.c is d", "(ops.lt(a, (_t1 := b.c)) and _t1 is d)"),
    ("not a < b < c", "not (ops.lt(a, b) and ops.lt(b, c))"),
    ("[p for p in q if a < f() < c]", "[p for p in ops.iter(q) if "
     "(ops.truth(ops.lt(a, (_t1 := ops.of(f)()))) and ops.truth(ops.lt(_t1, c)))]"),
    ("f()", "ops.of(f)()"),
    ("f(a, *b, k=c, **d)", "ops.of(f)(a, *ops.iter(b), k=c, **d)"),
    ("f(p for p in q)", "ops.of(f)(p for p in ops.iter(q))"),
    ("f(1)(2)", "ops.of(ops.of(f)(1))(2)"),
    ("a.b(c).d", "ops.of(a.b)(c).d"),
    ("(lambda a, b=c + 1: a * b)(2)", "ops.of((lambda a, b=ops.add(c, 1): ops.mul(a, b)))(2)"),
    ("a[i]", "ops.getitem(a, i)"),
    ("a[i, j]", "ops.getitem(a, (i, j))"),
    ("a[i,]", "ops.getitem(a, (i,))"),
    ("a[()]", "ops.getitem(a, ())"),
    ("a[-1]", "ops.getitem(a, -1)"),
    ("a[b:c]", "ops.getitem(a, ops.index[b:c])"),
    ("a[::2, ..., None]", "ops.getitem(a, ops.index[::2, ..., None])"),
    ("a[i + 1:, *b]", "ops.getitem(a, ops.index[ops.add(i, 1):, *ops.iter(b)])"),
    ("a[i][j]", "ops.getitem(ops.getitem(a, i), j)"),
    ("a and b or c", "a and b or c"),
    ("a if b else c", "a if ops.truth(b) else c"),
    ("a if not b and c else d", "a if not ops.truth(b) and ops.truth(c) else d"),
    ("a if b is None else d", "a if b is None else d"),
    ("[*a, b]", "[*ops.iter(a), b]"),
    ("{**a, 'b': c - 1}", "{**a, 'b': ops.sub(c, 1)}"),
    ("{a: b * 2 for a, b in c if a > 0}",
     "{a: ops.mul(b, 2) for a, b in ops.iter(c) if ops.truth(ops.gt(a, 0))}"),
    ("(n := n + 1) < n", "ops.lt((n := ops.add(n, 1)), n)"),
    ("f'{a + b!r:>{c * 2}} {a[0]:.3f}'", "f'{ops.add(a, b)!r:>{ops.mul(c, 2)}} {ops.getitem(a, 0):.3f}'"),
    ("f'{a + b=} {a.b}'", "f'{a + b=} {a.b}'"),
    ("(yield from a)", "(yield from ops.iter(a))"),
    ("'a' 'b' < c < 'd' 'e'", "(ops.lt('a' 'b', c) and ops.lt(c, 'd' 'e'))"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after"), OPERATORS + EXPRESSIONS)
def test_expression(before, after):
    assert program(f"y = {before}") == f"y = {after}"


STATEMENTS = [
    ("A[i] = v", "ops.store(v, A, i)"),
    ("A[i, :] = 1, 2", "ops.store((1, 2), A, ops.index[i, :])"),
    ("a, b = v", "a, b = ops.iter(v)"),
    ("a, b = b, a", "a, b = b, a"),
    ("a = b = v", "a = b = v"),
    ("a = b, c = v", "_t1 = v; a = _t1; b, c = ops.iter(_t1)"),
    ("a = b, c = 1, 2", "a = b, c = 1, 2"),
    ("a = A[i] = v", "_t1 = v; a = _t1; ops.store(_t1, A, i)"),
    ("a, A[i], b, o.c = v", "a, _t1, _t2, _t3 = ops.iter(v); ops.store(_t1, A, i); b = _t2; o.c = _t3"),
    ("A[i], A[j] = A[j], A[i]",
     "_t1, _t2 = ops.getitem(A, j), ops.getitem(A, i); ops.store(_t1, A, i); ops.store(_t2, A, j)"),
    ("a, (b, A[i]), *c = v",
     "a, _t1, *_t2 = ops.iter(v); (b, _t3) = ops.iter(_t1); ops.store(_t3, A, i); c = _t2"),
    ("A[i], (b, c) = v", "_t1, _t2 = ops.iter(v); ops.store(_t1, A, i); (b, c) = ops.iter(_t2)"),
    ("x += v", "x = ops.iadd(x, v)"), ("x -= v", "x = ops.isub(x, v)"), ("x *= v", "x = ops.imul(x, v)"),
    ("x /= v", "x = ops.idiv(x, v)"), ("x //= v", "x = ops.ifloordiv(x, v)"), ("x %= v", "x = ops.imod(x, v)"),
    ("x **= v", "x = ops.ipow(x, v)"), ("x @= v", "x = ops.imatmul(x, v)"), ("x &= v", "x = ops.iand(x, v)"),
    ("x |= v", "x = ops.ior(x, v)"), ("x ^= v", "x = ops.ixor(x, v)"), ("x <<= v", "x = ops.ilshift(x, v)"),
    ("x >>= v", "x = ops.irshift(x, v)"), ("x += 1, 2", "x = ops.iadd(x, (1, 2))"),
    ("x += yield", "x = ops.iadd(x, (yield))"),
    ("o.a += v", "o.a = ops.iadd(o.a, v)"),
    ("f().a += v", "_t1 = ops.of(f)(); _t1.a = ops.iadd(_t1.a, v)"),
    ("o.a += f()", "_t1 = o; _t1.a = ops.iadd(_t1.a, ops.of(f)())"),      # a call may rebind a global
    ("x.a += f()", "x.a = ops.iadd(x.a, ops.of(f)())"),                   # but not our local variable
    ("x.a += (x := 1)", "_t1 = x; _t1.a = ops.iadd(_t1.a, (x := 1))"),
    ("A[i] += v", "ops.store(ops.iadd(ops.getitem(A, i), v), A, i)"),
    ("A[:, 1] -= v", "ops.store(ops.isub(ops.getitem(A, ops.index[:, 1]), v), A, ops.index[:, 1])"),
    ("A[i, -1] *= v", "ops.store(ops.imul(ops.getitem(A, (i, -1)), v), A, (i, -1))"),
    ("A[i()] += v", "_t1 = A; _t2 = ops.of(i)(); ops.store(ops.iadd(ops.getitem(_t1, _t2), v), _t1, _t2)"),
    ("A[i] += v()", "_t1 = A; _t2 = i; ops.store(ops.iadd(ops.getitem(_t1, _t2), ops.of(v)()), _t1, _t2)"),
    ("x[0] += v()", "ops.store(ops.iadd(ops.getitem(x, 0), ops.of(v)()), x, 0)"),
    ("del A[i + 1], x", "del A[ops.add(i, 1)], x"),
    ("if a: pass", "if ops.truth(a): pass"),
    ("if (a\n    or b): pass", "if (ops.truth(a)\n    or ops.truth(b)): pass"),
    ("if(a): pass", "if ops.truth(a): pass"),
    ("while a < b < c: x = a", "while (ops.truth(ops.lt(a, b)) and ops.truth(ops.lt(b, c))): x = a"),
    ("while True: break", "while True: break"),
    ("assert a, b + 1", "assert ops.truth(a), ops.add(b, 1)"),
    ("for a in b: pass\nelse: c = -x", "for a in ops.iter(b): pass\nelse: c = ops.neg(x)"),
    ("for a in 1, 2: pass", "for a in ops.iter((1, 2)): pass"),
    ("for A[i] in b:\n    pass", "for _t1 in ops.iter(b):\n    ops.store(_t1, A, i)\n    pass"),
    ("for a, A[i] in b: pass", "for a, _t1 in ops.iter(b): ops.store(_t1, A, i); pass"),
    ("with f(a) as b: pass", "with ops.of(f)(a) as b: pass"),
    ("with f(a) as A[i]:\n    pass", "with ops.of(f)(a) as _t1:\n    ops.store(_t1, A, i)\n    pass"),
    ("return(a + b)", "return(ops.add(a, b))"),
    ("return-x", "return ops.neg(x)"),
    ("y: int = a + b", "y: int = ops.add(a, b)"),
    ("raise f(a) from b", "raise ops.of(f)(a) from b"),
    ("try:\n    a = b[0]\nexcept (c, d) as e:\n    pass",
     "try:\n    a = ops.getitem(b, 0)\nexcept (c, d) as e:\n    pass"),
    ("match x:\n    case [a, -1 | 1 + 2j] if a > 0:\n        y = a + 1",
     "match x:\n    case [a, -1 | 1 + 2j] if ops.truth(ops.gt(a, 0)):\n        y = ops.add(a, 1)"),
    ("@d(1)\ndef g(a: b[0], c=x + 1) -> b[1]:\n    return a * c",
     "@ops.of(d)(1)\ndef g(a: b[0], c=ops.add(x, 1)) -> b[1]:\n    return ops.mul(a, c)"),
    ("class C(*b):\n    y = x + 1\n    def m(self): return -self.y",
     "class C(*ops.iter(b)):\n    y = ops.add(x, 1)\n    def m(self): return ops.neg(self.y)"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after"), STATEMENTS)
def test_statement(before, after):
    assert program(before) == after


@pytest.mark.parametrize(("before", "after"), [
    ("", "ops"), ("x, /, y, *, z=1", "ops, x, /, y, *, z=1"), ("*a", "ops, *a"), ("*, k", "ops, *, k"),
    ("x: int = 3", "ops, x: int = 3"), ("x, **k", "ops, /, x, **k"),
])  # fmt: skip
def test_parameters(before, after):
    fn = make(f"def f({before}) -> None:\n    pass\n")
    assert program_of(fn).source.startswith(f"def f({after}) -> None:")


def test_comments_and_docstring_stay_and_decorators_go():
    fn = make('''
        def keep(f): return f
        # above
        @keep
        @keep
        def f(x):
            """What it does."""
            return x * 2  # twice
        ''')  # fmt: skip
    assert program_of(fn).source == (
        'def f(ops, x):\n    """What it does."""\n    return ops.mul(x, 2)  # twice\n'
    )


def test_names_of_the_source_are_not_taken():
    assert program_of(make("def f(ops, _t1): return ops + _t1 < g() < 1\n")).source == (
        "def f(ops_1, ops, _t1): return (ops_1.lt(ops_1.add(ops, _t1), (_t2 := ops_1.of(g)())) and ops_1.lt(_t2, 1))\n"
    )
    assert program_of(make("def f(x):\n    'ops in a text'\n    return x.ops_1\n")).source.startswith("def f(ops, x)")
    assert program_of(make("def f(x):\n    from ops import g\n    return x\n")).source.startswith("def f(ops_1, x)")


REFUSED = [
    ("async def f(x):\n    return x", 1, "coroutine", "plain function"),
    ("def f(x):\n    async def g(): pass\n    return x", 2, "coroutine", "plain function"),
    ("def f(x):\n    global G\n    G = x", 3, "global", "Return it"),
    ("def f(x):\n    global G\n    for G in x: pass", 3, "global", "Return it"),
    ("def f(x):\n    global G\n    G += x", 3, "global", "Return it"),
    ("def f(A):\n    return [0 for A[0] in A]", 2, "comprehension", "for loop"),
    ("def f(x):\n    return [y for y in g(0 < x() < 1)]", 2, "chained", "line before"),
    ("def f(x):\n    class C:\n        y = 0 < x() < 1", 3, "class", "class body"),
    ("def f(A):\n    A[0]: int = 1", 2, "annotation", "annotation"),
    ("def f(A):\n    with g() as A[0], g() as b: pass", 2, "with", "Nest"),
    ("def f(x):\n    return x + len(locals())", 2, "local variables", "Name the variables"),
]


@pytest.mark.parametrize(("text", "line", "reason", "remedy"), REFUSED)
def test_refusal_names_place_reason_and_remedy(text, line, reason, remedy):
    fn = make(text + "\n")
    with pytest.raises(RecordError) as caught:
        program_of(fn)
    error = caught.value
    assert reason in error.reason and remedy in error.remedy and error.place is not None
    assert error.place.filename == fn.__code__.co_filename and error.place.line == line
    assert error.place.text.strip() == text.splitlines()[line - 1].strip()


def test_reading_a_global_is_not_refused():
    assert program("global G\nreturn G + x") == "global G\nreturn ops.add(G, x)"


def test_a_program_that_does_not_read_back_is_refused(monkeypatch):
    from autograd_frontend import nodes

    fn = make("def f(x):\n    y = 1\n    return x - y\n")
    monkeypatch.setitem(nodes.BINARY, next(kind for kind, name in nodes.BINARY.items() if name == "sub"), "add")
    with pytest.raises(RecordError, match="internal error.*read back") as caught:
        program_of(fn)
    assert caught.value.place is not None and caught.value.place.line == 3
