"""Where functions come from: files, cells, lambdas, decorators; and sources that are missing or no longer true."""

import importlib.util
import linecache
import subprocess
import sys
import textwrap

import pytest
from test_rewrite import make
from test_rewrite_native import agree, run

from autograd_frontend.errors import RecordError
from autograd_frontend.rewrite import program_of

# fmt: off
square, cube = (lambda x: x * x), (lambda x: x ** 3)
nested = lambda x: (lambda y: lambda z: x + y * z)
by_name = {
    "one": lambda x: x + 1, "two": lambda x: x + 2,
    "odd": (
        lambda x:
            x * len("a )")      # a comment, and a ) in it
    ), "naïve": lambda μ: μ - 1, "bare": lambda: 7, "no\tne": lambda *a, k=2, **o: (a, k, o),
}
powers = [lambda x, n=n: x ** n for n in range(4)]
twins = [lambda x: x * 2, lambda x: x * 2, lambda x: x * 2 - 1]
def one_line(x): y = x * x; return y * y
# fmt: on


class Holder:
    key = lambda self, x: self.__secret * x
    __secret = 3


def text_of(fn):
    return program_of(fn).source.strip()


def test_lambdas():
    assert text_of(square) == "lambda ops, x: ops.mul(x, x)" and text_of(cube) == "lambda ops, x: ops.pow(x, 3)"
    assert agree(cube, 3) == 27
    assert run(nested, 1)(2)(3) == run(nested(1), 2)(3) == run(nested(1)(2), 3) == 7
    assert [agree(by_name[name], 5) for name in ("one", "two", "odd", "naïve")] == [6, 7, 15, 4]
    assert agree(by_name["bare"]) == 7 and text_of(by_name["bare"]) == "lambda ops: 7"
    assert agree(by_name["no\tne"], 1, b=2) == ((1,), 2, {"b": 2})
    assert [agree(power, 2) for power in powers] == [1, 2, 4, 8]
    assert [agree(twin, 2) for twin in twins] == [4, 4, 3]
    assert agree(Holder.key, Holder(), 2) == 6


def test_one_line_def():
    assert agree(one_line, 2) == 16
    assert text_of(one_line) == "def one_line(ops, x): y = ops.mul(x, x); return ops.mul(y, y)"


def test_odd_text():
    fn = make('''
        class Outer:
          def f(self, x):
                """A docstring with "quotes", a backslash \\\\ and x = 1 / 0.

            def not_code(): pass
            """
                naïve = x \\
                    * 2  # a # in a comment
                text = 'if x > 0: {' "}" + """
            return 0
            """
                μ = naïve + len(text) * (
            0)
        \t\t
                return μ
        f = Outer.f
        ''')  # fmt: skip
    assert agree(fn, None, 2) == 4
    assert program_of(fn).source.startswith("def f(ops, self, x):\n")


def test_tabs():
    assert agree(make("if 1:\n\tdef f(x):\n\t\tif x:\n\t\t\treturn x + 1\n\t\treturn x\n"), 1) == 2


def test_decorators():
    fn = make('''
        def plain(*a):
            return lambda f: f
        @plain(lambda x: x * 2, [1][0])
        @plain(
            (3), lambda x: x)
        def f(x):
            return x * 2
        ''')  # fmt: skip
    assert agree(fn, 2) == 4 and program_of(fn).source == "def f(ops, x):\n    return ops.mul(x, 2)\n"


def test_method_of_a_nested_class_in_a_function():
    def build(n):
        class _Outer:
            class __Inner:
                def get(self, x, __y=1):
                    self.__v = x + n + __y
                    return self.__v, __class__.__name__

            inner = __Inner

        return _Outer.inner

    inner = build(2)
    assert agree(inner.get, inner(), 3) == (6, "__Inner")
    assert vars(inner()) == {}


def test_future_flags_are_kept():
    fn = make("from __future__ import annotations\ndef f():\n    def g(x: not_defined): pass\n    return g\n")
    assert run(fn).__annotations__ == {"x": "not_defined"}


@pytest.mark.parametrize("filename", ["/tmp/ipykernel_123/456.py", "<ipython-input-7-abcdef>"])
def test_notebook_cell(filename):
    text = "import math\ndef f(x):\n    return math.sqrt(x) + 1\n"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    for mode in ("whole", "apart"):  # a notebook compiles the statements of a cell one by one
        namespace = {}
        if mode == "whole":
            exec(compile(text, filename, "exec"), namespace)  # noqa: S102
        else:
            import ast

            for node in ast.parse(text).body:
                exec(compile(ast.Interactive([node]), filename, "single"), namespace)  # noqa: S102
        assert agree(namespace["f"], 4) == 3.0


def test_a_cell_run_again_gives_the_new_source():
    first, second = make("def f(x): return x + 1\n"), make("def f(x): return x + 2\n")
    assert (run(first, 1), run(second, 1)) == (2, 3)


def test_no_source():
    namespace = {}
    exec("def f(x):\n    return x\n", namespace)  # noqa: S102
    exec(compile("g = lambda x: x", "<stdin>", "single"), namespace)  # noqa: S102
    for fn in (namespace["f"], namespace["g"], len):
        with pytest.raises(RecordError, match="source"):
            program_of(fn)


def module(path, text, name="edited"):
    path.write_text(textwrap.dedent(text))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


TEXT = "import math\nfrom os import path\nclass P:\n    def m(self): return math.sqrt(4) + len(path.join('a'))\n" \
       "def f(x):\n    return x * 1.0\nlam = lambda x: x + 0.0\n"  # fmt: skip
EDITS = [
    ("x * 1.0", "x * 1"), ("x * 1.0", "x * -1.0"), ("x * 1.0", "x * 2.0"), ("x * 1.0", "y * 1.0"),
    ("x * 1.0", "x / 1.0"), ("def f(x)", "def f(x, y=1)"), ("def f(x)", "def g(x)"), ("import math\n", ""),
    ("import math\n", "import math\n\n"), ("def f(x):\n    return x * 1.0\n", ""), ("x * 1.0", "(x * 1.0"),
    (TEXT, ""),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new"), EDITS)
def test_a_file_edited_since_import_is_refused(tmp_path, old, new):
    path = tmp_path / "edited.py"
    loaded = module(path, TEXT)
    path.write_text(TEXT.replace(old, new))
    with pytest.raises(RecordError, match="changed since it was imported|no source"):
        program_of(loaded.f)


@pytest.mark.parametrize(("old", "new"), [("+ 0.0", "+ -0.0"), ("+ 0.0", "+ 0"), ("lambda x", "lambda x, y=0")])
def test_an_edited_lambda_is_refused(tmp_path, old, new):
    path = tmp_path / "edited.py"
    loaded = module(path, TEXT)
    path.write_text(TEXT.replace(old, new))
    with pytest.raises(RecordError, match="changed since it was imported"):
        program_of(loaded.lam)


def test_edits_elsewhere_do_not_matter(tmp_path):
    path = tmp_path / "edited.py"
    loaded = module(path, TEXT)
    path.write_text(TEXT.replace("+ 0.0", "+ 1.0") + "\ndef more(): pass\n")
    assert run(loaded.f, 3) == 3.0 and run(loaded.P.m, None) == 3.0


def test_a_test_module_with_rewritten_asserts():
    def checked(x):
        assert x > 0, "negative"
        return x * 2

    assert agree(checked, 2) == 4
    with pytest.raises(AssertionError, match="negative"):
        run(checked, -1)


def test_under_python_o_and_without_column_positions(tmp_path):
    path = tmp_path / "optimised.py"
    path.write_text(
        '''
import math
from autograd_frontend.rewrite import bind
from test_rewrite_native import Native
def f(x):
    """Doc."""
    assert x < 0
    return math.sqrt(x) * 2
a, b = (lambda x: x + 1), (lambda x: x + 2)
print(*(bind(g, Native())(4.0) for g in (f, a, b)))
'''
    )
    env = {"PYTHONPATH": ":".join(sys.path)}
    for flags in (["-O"], ["-O", "-X", "no_debug_ranges"]):
        done = subprocess.run([sys.executable, *flags, str(path)], capture_output=True, text=True, env=env)
        assert done.stdout.split() == ["4.0", "5.0", "6.0"], done.stderr


def test_importing_the_rewriter_does_not_import_libcst():
    text = "import sys, autograd_frontend.rewrite; print('libcst' in sys.modules)"
    env = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=env)
    assert done.stdout.strip() == "False", done.stderr


def test_every_function_of_these_modules_reads_back():
    import dataclasses
    import difflib
    import fractions
    import heapq
    import statistics
    import types

    functions = [
        fn
        for source in (dataclasses, difflib, fractions, heapq, statistics)
        for owner in [source, *(kind for kind in vars(source).values() if isinstance(kind, type))]
        for fn in vars(owner).values()
        if isinstance(fn, types.FunctionType) and fn.__code__.co_filename == source.__file__
    ]
    for fn in functions:
        program_of(fn)
    assert len(functions) > 100


def test_the_standard_library_runs_as_programs():
    import fractions
    import heapq
    import statistics

    data = [3.5, 1.25, 8.0, 2.0, 2.0, 9.75]
    assert run(statistics.quantiles, data, n=5) == statistics.quantiles(data, n=5)
    assert run(statistics.multimode, data) == [2.0]
    assert list(run(heapq.merge, [1, 4], [2, 3])) == [1, 2, 3, 4]
    assert run(fractions.Fraction.limit_denominator, fractions.Fraction(355, 11300), 100) == fractions.Fraction(3, 95)


def test_super_outside_of_a_class_has_no_cell():
    fn = make("""
        def f(x):
            def g(me): return super(type(me), me).__repr__() and f
            return g(x) is f
        """)
    assert agree(fn, 1) is True


def test_text_that_looks_like_a_name_is_not_touched():
    fn = make('def f(x):\n    class f: pass\n    return ["f.x", "f", "ff", __name__, f.__qualname__]\n')
    assert agree(fn, 0)[:3] == ["f.x", "f", "ff"]
