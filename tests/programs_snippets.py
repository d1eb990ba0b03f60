"""Statements from text with holes: a few lines of ordinary Python each, what stands in the holes drawn at random.

A snippet is text. `«a¦b¦c»` is one of the alternatives, the first being the simplest; `~v` a new name, the same one all
over the snippet. A line goes on in the next after `¦`. Lines above one that reads `---` go to the top of the module,
once. Holes:

- `$s` a scalar, `$S` a larger one, `$s(~t, self.a)` one that may use these names too (above `---`: only these);
- `$a` a vector as long as `$b` (or of the first dimension), `$f` one in memory of its own, `$b` the name of a vector
  that may be written into, `$B` of a matrix, `$r` and `$k` a row and a column for it;
- `$c` a constant, `$t` a threshold, `$q` a condition, `$i` an index of a vector, `$n` and `$m` the dimensions;
- a line `$body`: statements, perhaps none; `$body(~t)` those of a nested function; `$p`: a probe.

The last line may say what the rest of the program can use: `=> ~v, ~w:n, ~l:list3` scalars, vectors, lists.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from . import programs_arrays as arrays
from . import programs_exprs as exprs
from .programs_scope import Gen, Scope, Var, bare, indent

Lines = list[str]
HOLE = re.compile(r"\$(\w)(?:\(([^()]*)\))?")
NAME = re.compile(r"~(\w+)")
LINE = re.compile(r"( *)\$(body|p)(?:\(([^()]*)\))?$")


def choose(gen: Gen, text: str) -> str:
    """`text` with one alternative of every choice; those inside what is left out are not drawn."""
    start = text.find("«")
    if start < 0:
        return text
    depth, cuts = 0, [start]
    for place in range(start, len(text)):
        depth += (text[place] == "«") - (text[place] == "»")
        if depth == 1 and text[place] == "¦":
            cuts.append(place)
        if depth == 0:
            break
    cuts.append(place)
    parts = [text[a + 1 : b] for a, b in zip(cuts, cuts[1:])]
    return text[:start] + choose(gen, gen.pick(parts)) + choose(gen, text[place + 1 :])


class Filling:
    """One use of a snippet."""

    def __init__(self, gen: Gen, scope: Scope, names: dict[str, str], block: Callable[..., Lines]) -> None:
        self.gen, self.scope, self.names, self.block = gen, scope, names, block
        self.before: Lines = []
        self.target: Var | None = None
        self.alone = False
        self.loops = 0

    def named(self, text: str) -> str:
        return NAME.sub(lambda m: self.names.setdefault(m[1], self.gen.name(m[1])), text)

    def inner(self, more: str | None) -> Scope:
        """The names in reach of a hole."""
        extra = [variable(part.strip(), self.gen.dims[0]) for part in (more or "").split(",") if part.strip()]
        if self.alone:
            return Scope(extra, list(self.gen.top_funcs), blocks=2, main=False, nested=True)
        inner = self.scope.child()
        inner.variables += extra
        return inner

    def array(self, ndim: int) -> Var:
        from .programs_writes import target

        if self.target is None:
            lines, self.target = target(self.gen, self.scope, ndim)
            self.before += lines
        return self.target

    def hole(self, match: re.Match[str]) -> str:
        gen, kind, more = self.gen, match[1], match[2]
        if kind in "cti":
            return {"c": gen.constant().text, "t": gen.threshold(), "i": gen.index(2)}[kind]
        if kind in "nm":
            return str(gen.dims["nm".index(kind)])
        if kind in "bB":
            return self.array(1 if kind == "b" else 2).name
        inner = self.inner(more)
        if kind in "sS":
            return exprs.scalar(gen, inner, 1 if kind == "s" else 2).text
        if kind == "q":
            return bare(exprs.condition(gen, inner, 1))
        shape = self.target.shape if self.target else (gen.dims[0],)
        shape = shape[1:] if kind == "r" else shape[:1]
        return (arrays.fresh if kind == "f" else arrays.array)(gen, inner, shape, 1).text

    def line(self, line: str) -> Lines:
        special = LINE.match(line)
        if special is None:
            return [HOLE.sub(self.hole, line)]
        space, kind, more = special.groups()
        if kind == "p":
            lines = self.gen.probe_lines()
        elif self.scope.blocks >= 3 or self.alone or (more is not None and (self.scope.nested or self.scope.loops)):
            lines = []
        else:
            inner = self.inner(more)
            inner.loops += self.loops
            inner.nested = inner.nested or more is not None
            inner.main = inner.main and more is None
            lines = self.block(self.gen, inner, self.scope if more is not None else None)
        return [space + text for text in lines]

    def lines(self, text: str) -> Lines:
        self.loops = int(re.search(r"^ *(for|while) ", text, re.MULTILINE) is not None)
        return [more for line in text.splitlines() if line.strip() for more in self.line(line)]


def variable(name: str, n: int) -> Var:
    """`t` a scalar, `t[]` a vector."""
    return Var(name[:-2], "array", (n,), False) if name.endswith("[]") else Var(name, "scalar")


def fill(gen: Gen, scope: Scope, snippet: str, block: Callable[..., Lines]) -> Lines:
    """The lines of a snippet; what it says it binds is in reach from then on."""
    names: dict[str, str] = {}
    snippet = re.sub(r"¦\n *", "¦", snippet)
    top, line, below = snippet.rpartition("\n---\n")
    if line:
        if snippet not in gen.hoisted:
            above = Filling(gen, scope, names, block)
            above.alone = True
            gen.hoisted[snippet] = names
            gen.top += [*above.lines(above.named(choose(gen, top.strip("\n")))), ""]
        names = dict(gen.hoisted[snippet])
    filling = Filling(gen, scope, names, block)
    text, _, out = filling.named(choose(gen, below.strip("\n"))).partition("\n=> ")
    lines = filling.lines(text)
    for part in filter(None, out.split(", ")):
        name, _, kind = part.partition(":")
        if kind.startswith("list"):
            scope.variables.append(Var(name, "list", (int(kind[4:] or 2),)))
        elif kind:
            scope.variables.append(Var(name, "array", {"n": gen.dims[:1], "mn": gen.dims[::-1]}[kind]))
        else:
            scope.variables.append(Var(name, "scalar"))
    return filling.before + lines


def statement(table: Sequence[str], block: Callable[..., Lines]) -> Callable[[Gen, Scope], Lines]:
    """A statement that is one of the snippets."""

    def draw(gen: Gen, scope: Scope) -> Lines:
        snippet = gen.pick(table)
        gen.mark("snippet " + snippet.strip().split("\n")[0][:60])
        return fill(gen, scope, snippet, block)

    return draw


__all__ = ["fill", "indent", "statement"]
