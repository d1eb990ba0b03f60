"""What a program under construction knows: its draws, the names in reach and the sizes of their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")
Shape = tuple[int, ...]

CONSTANTS = ("0.5", "1.5", "(-0.7)", "0.3", "2.0", "(-1.2)", "0.9")
THRESHOLDS = ("0.2513", "(-0.3517)", "0.6529", "(-0.8511)", "0.0517", "1.1537")
LIMIT = 3.0


@dataclass
class Var:
    """A name in reach. `owned`: writing into it touches no memory that the caller can see."""

    name: str
    kind: str  # scalar, array, list, int
    shape: Shape = ()
    owned: bool = True


class Expr(NamedTuple):
    """Text of an expression, a rough bound of its size, and the variable whose memory it may share."""

    text: str
    bound: float = LIMIT
    owner: Var | None = None


@dataclass
class Func:
    """A callable in reach: `takes` is scalars, array or box; the result is a scalar or an array of `shape`."""

    name: str
    takes: str
    keyword: str = ""
    shape: Shape = ()


@dataclass
class Scope:
    """The names that a statement may use; a block gets a copy, so that what it binds stays inside."""

    variables: list[Var] = field(default_factory=list)
    funcs: list[Func] = field(default_factory=list)
    loops: int = 0
    blocks: int = 0
    main: bool = True
    nested: bool = False

    def child(self, *, loop: bool = False) -> Scope:
        extra = int(loop)
        return Scope(
            list(self.variables), list(self.funcs), self.loops + extra, self.blocks + 1, self.main, self.nested
        )

    def of(self, kind: str, *, ndim: int | None = None, owned: bool = False) -> list[Var]:
        return [
            v
            for v in self.variables
            if v.kind == kind and (ndim is None or len(v.shape) == ndim) and (v.owned or not owned)
        ]

    def shaped(self, shape: Shape) -> list[Var]:
        return [v for v in self.variables if v.kind == "array" and v.shape == shape]


@st.composite
def statement_span(draw: Any, gen: Gen, build: Callable[[], T]) -> T:
    """What `build` draws, as one unit that shrinking may drop or replace."""
    gen.draw = draw
    return build()


@st.composite
def expression_span(draw: Any, gen: Gen, build: Callable[[], T]) -> T:
    gen.draw = draw
    return build()


class Gen:
    """Draws for one program. Every choice takes the first alternative when it shrinks."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any], *, probe: bool = False) -> None:
        self.draw = draw
        self.probe = probe
        self.features: set[str] = set()
        self.fuel = 90
        self.dims = (self.number(2, 4), self.number(2, 3))
        self.top: list[str] = []  # lines for the top of the module
        self.top_funcs: list[Func] = []  # helpers there
        self.scalar_productions: tuple[Any, ...] = ()  # more of them than the tables have
        self.array_productions: tuple[Any, ...] = ()
        self.steady = False  # no truth test reads an argument
        self.hoisted: dict[str, dict[str, str]] = {}  # snippets with lines in `top`, and the names in them
        self._names = 0
        self._ticks = 0

    def number(self, low: int, high: int) -> int:
        return int(self.draw(st.integers(low, high)))

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self.number(0, len(choices) - 1)] if len(choices) > 1 else choices[0]

    def chance(self, one_in: int) -> bool:
        return self.number(0, one_in - 1) == one_in - 1

    def name(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    def repeat(self, build: Callable[[], list[str]], most: int, *, odds: int = 2) -> list[str]:
        """Lines of up to `most` builds; each is followed by another with probability 1 - 1/odds."""
        lines: list[str] = []
        for _ in range(most):
            more: list[str] | None = self.draw(
                statement_span(self, lambda: build() if self.number(0, odds - 1) else None)
            )
            if more is None:
                break
            lines += more
        return lines

    def expression(self, build: Callable[[], T]) -> T:
        result: T = self.draw(expression_span(self, build))
        return result

    def mark(self, feature: str) -> None:
        self.features.add(feature)

    def spend(self) -> bool:
        self.fuel -= 1
        return self.fuel > 0

    def constant(self) -> Expr:
        return Expr(self.pick(CONSTANTS), 2.0)

    def threshold(self) -> str:
        return self.pick(THRESHOLDS)

    def tick(self) -> str:
        self._ticks += 1
        return f"tick({self._ticks})"

    def probe_lines(self) -> list[str]:
        return [self.tick()] if self.probe else []

    def probed(self, text: str) -> str:
        """The value of `text`, with its evaluation noted in a probe program."""
        return f"({self.tick()} + {text})" if self.probe else text

    def probed_test(self, text: str) -> str:
        return f"({self.tick()} == 0 and {text})" if self.probe else text

    def index(self, length: int) -> str:
        place = self.number(0, 2 * length - 1)
        return str(place if place < length else place - 2 * length)

    def indices(self, count: int, length: int) -> str:
        """A list of `count` integer indices, repeats likely; negative ones too."""
        places = ", ".join(self.index(length) for _ in range(count))
        self.mark("integer-array index")
        return f"[{places}]"


def bare(text: str) -> str:
    """`text` without a pair of parentheses around all of it."""
    if not text.startswith("("):
        return text
    depth = 0
    for place, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return text[1:-1] if place == len(text) - 1 and not has_comma(text[1:-1]) else text
    return text


def has_comma(text: str) -> bool:
    """Whether a comma, a `:=` or a `for` outside brackets forbids taking parentheses away."""
    depth = 0
    for place, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if depth == 0 and (char == "," or text.startswith((":=", " for "), place)):
            return True
    return False


def indent(lines: Sequence[str]) -> list[str]:
    return ["    " + line for line in lines]


def fit(gen: Gen, expr: Expr, *, array: bool = False, limit: float = LIMIT) -> Expr:
    """`expr`, wrapped where its bound is larger than `limit`."""
    if expr.bound <= limit:
        return expr
    library = "np" if array or gen.chance(2) else "math"
    if gen.chance(2):
        return Expr(f"{library}.tanh({bare(expr.text)})", 1.0)
    scale = next((c for c in (0.5, 0.25, 0.125) if expr.bound * c <= limit), 0.0)
    if scale:
        return Expr(f"({scale} * {expr.text})", expr.bound * scale)
    return Expr(f"{library}.sin({bare(expr.text)})", 1.0)
