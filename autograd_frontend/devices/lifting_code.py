"""Statements of a function of numbers, and the device function they become.

A variable of Python is one of C++ for each type that it has; where two ways meet it is converted. The types at the head
of a loop are found by translating it until they stay.
"""

from __future__ import annotations

import ast
from functools import reduce
from typing import Any

from .lifting_expressions import Expressions, local_names, stored
from .lifting_types import INT, NOTHING, PYTHON, Items, Missing, Thing, Type, Untranslatable, Value, joined, valued

CPU = "Call it on the CPU, or write it with if, while, for over range, and numbers."
REFUSED = {
    ast.Try: "try", ast.With: "with", ast.FunctionDef: "a function defined inside", ast.ClassDef: "a class",
    ast.Global: "global", ast.Nonlocal: "nonlocal", ast.Import: "import", ast.ImportFrom: "import", ast.Delete: "del",
    ast.Match: "match", ast.AsyncFor: "async", ast.AsyncWith: "async",
}  # fmt: skip
UNSET = Missing("may have no value here")
End = tuple[Any, list[Any]]  # variables where a way ends, and the statements that convert them


class Loop:
    """A loop that is being written: where it is left, and where it goes on."""

    def __init__(self, flag: str) -> None:
        self.flag, self.breaks, self.continues = flag, list[End](), list[End]()


class Body(Expressions):
    """A function with arguments of certain types."""

    def __init__(self, unit: Any, f: Thing, node: Any, env: dict[str, Any]) -> None:
        super().__init__()
        self.unit, self.fn, self.path, self.env = unit, f.thing, f.path or (), env
        self.locals = local_names(node)
        self.walrus = any(isinstance(n, ast.NamedExpr) for n in ast.walk(node))
        self.places: dict[Any, Value] = {}
        self.declared: list[str] = []
        self.returns: list[tuple[Any, list[Any]]] = []
        self.loops: list[Loop] = []
        self.written = self.lines
        if isinstance(node, ast.Lambda):
            self.leave(self.visit(node.body))
        else:
            self.block(node.body)
            if self.env is not None:
                self.leave(Thing(None))

    def leave(self, x: Any) -> None:
        slot: list[Any] = []
        self.lines += [slot, "return;"]
        self.returns.append((x, slot))
        self.env = None

    # Variables

    def place(self, name: str, kind: Type) -> Value:
        """The variable of C++ for a variable of one type."""
        found = self.places.get((name, kind))
        if found is None:
            text = self.unit.fresh(f"{''.join(c if c.isascii() and c.isalnum() else '_' for c in name)}_")
            found = valued(kind, kind.names(text))
            self.places[name, kind] = found
            self.declared += [f"{self.unit.register(kind)} {t} = 0;" for t in found.texts()]
        return found

    def assign(self, name: str, x: Any) -> None:
        self.env[name] = self.put(name, x)

    def put(self, name: str, x: Any) -> Any:
        if isinstance(x, Items):
            return Items([self.put(f"{name}.{i}", e) for i, e in enumerate(x.items)])
        return self.moved(name, x.type, [(x, self.lines)]) if isinstance(x, Value) else x

    def moved(self, name: str, kind: Any, ends: list[End]) -> Any:
        """The variable of a joined type, set at the end of each way."""
        if isinstance(kind, Items):
            return Items([
                self.moved(f"{name}.{i}", k, [(x.items[i], slot) for x, slot in ends]) for i, k in enumerate(kind.items)
            ])  # fmt: skip
        if not isinstance(kind, (Type, Value)):
            return kind
        place, outer = self.place(name, kind if isinstance(kind, Type) else kind.type), self.lines
        for x, slot in ends:
            if x is not place:
                self.lines = slot
                for target, text in zip(place.texts(), self.converted(x, place.type).texts(), strict=True):
                    self.emit(f"{target} = {text};")
        self.lines = outer
        return place

    def merged(self, ends: list[End]) -> Any:
        """The variables where ways meet."""
        ends = [(env, slot) for env, slot in ends if env is not None]
        if not ends:
            return None
        out = {}
        for name in dict.fromkeys([n for env, _ in ends for n in env]):
            found = [env.get(name, UNSET) for env, _ in ends]
            same = all(x is found[0] for x in found)
            kind = found[0] if same else reduce(joined, found)
            slots = [slot for _, slot in ends]
            out[name] = found[0] if same else self.moved(name, kind, list(zip(found, slots, strict=True)))
        return out

    # Statements

    def block(self, nodes: list[ast.stmt]) -> None:
        for node in nodes:
            if self.env is None:
                return
            method = getattr(self, f"do_{type(node).__name__}", None)
            try:
                if method is None:
                    raise Untranslatable(f"{REFUSED.get(type(node), 'this statement')} cannot run on a GPU", CPU)
                method(node)
            except Untranslatable as error:
                if error.node is None:
                    error.node, error.fn = node, self.fn
                raise

    def within(self, nodes: list[ast.stmt], env: Any, lines: list[Any]) -> End:
        """Statements written into lines of their own: the variables after them, and a place for conversions."""
        outer, self.lines, self.env = self.lines, lines, None if env is None else dict(env)
        self.block(nodes)
        slot: list[Any] = []
        self.lines.append(slot)
        self.lines = outer
        return self.env, slot

    def do_Pass(self, node: ast.Pass) -> None:
        pass

    def do_Expr(self, node: ast.Expr) -> None:
        self.visit(node.value)

    def do_Assign(self, node: ast.Assign) -> None:
        x = self.visit(node.value)
        for target in node.targets:
            self.set(target, x)

    def do_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.set(node.target, self.visit(node.value))

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        if not isinstance(node.target, ast.Name):
            raise Untranslatable(f"{ast.unparse(node.target)} is changed in place", "Use local variables.")
        old = self.value(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
        self.assign(node.target.id, self.binary(type(node.op), old, self.value(node.value)))

    def set(self, target: ast.expr, x: Any) -> None:
        if isinstance(target, ast.Name):
            self.assign(target.id, x)
        elif isinstance(target, (ast.Tuple, ast.List)) and not any(isinstance(t, ast.Starred) for t in target.elts):
            if not isinstance(x, Items) or len(x.items) != len(target.elts):
                reason = f"{ast.unparse(target)} is set to something else than as many values"
                raise Untranslatable(reason, "Set each by itself.")
            for t, e in zip(target.elts, self.snapshot(x).items, strict=True):
                self.set(t, e)
        else:
            raise Untranslatable(f"{ast.unparse(target)} is written to", "Use local variables.")

    def do_Return(self, node: ast.Return) -> None:
        if isinstance(node.value, ast.IfExp):  # two returns, each with its own type
            test = node.value
            self.do_If(ast.copy_location(ast.If(test.test, [returned(test.body)], [returned(test.orelse)]), node))
        else:
            self.leave(Thing(None) if node.value is None else self.visit(node.value))

    def do_Assert(self, node: ast.Assert) -> None:
        c = self.condition(node.test)
        self.check(f"!({str(c).lower() if isinstance(c, bool) else c})")

    def do_Raise(self, node: ast.Raise) -> None:
        self.check("true")
        self.env = None

    def do_If(self, node: ast.If) -> None:
        c = self.condition(node.test)
        if isinstance(c, bool):
            self.block(node.body if c else node.orelse)
            return
        env = self.env
        left: list[Any] = []
        right: list[Any] = []
        ends = [self.within(node.body, env, left), self.within(node.orelse, env, right)]
        self.env = self.merged(ends)
        self.lines += [f"if ({c}) {{", left, "} else {", right, "}"]

    def do_Break(self, node: ast.Break) -> None:
        self.jump(self.loops[-1].breaks, f"{self.loops[-1].flag} = false; break;")

    def do_Continue(self, node: ast.Continue) -> None:
        self.jump(self.loops[-1].continues, "continue;")

    def jump(self, ends: list[End], text: str) -> None:
        slot: list[Any] = []
        self.lines += [slot, text]
        ends.append((self.env, slot))
        self.env = None

    # Loops

    def do_While(self, node: ast.While) -> None:
        forever = False

        def write(loop: Loop) -> tuple[str, Any]:
            nonlocal forever
            c = self.condition(node.test)
            forever = c is True
            if not forever:
                self.emit(f"if (!({str(c).lower() if isinstance(c, bool) else c})) break;")
            head = dict(self.env)  # a walrus in the test
            return "while (true) {", head

        self.loop(node, write, lambda: forever, False)

    def do_For(self, node: ast.For) -> None:
        count, item, some = self.iterated(node.iter)
        j = self.unit.fresh("j")

        def write(loop: Loop) -> tuple[str, Any]:
            head = dict(self.env)
            self.set(node.target, item(j))
            return f"for (long long {j} = 0; {j} < {count}; {j}++) {{", head

        self.loop(node, write, lambda: False, some)

    def iterated(self, node: ast.expr) -> tuple[str, Any, bool]:
        """How often a loop runs, its item by the text of a number, and whether it is known to run."""
        f = self.visit(node.func) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None
        if isinstance(node, ast.Call) and isinstance(f, Thing) and f.thing is range and not node.keywords:
            given = [self.value(a) for a in node.args]
            if any(v.dtype.kind not in "iu" for v in given):
                raise Untranslatable(f"{ast.unparse(node)}: range of what is no integer", "Write range(int(n)).")
            one, zero = self.constant(1), self.constant(0)
            parts = [zero, *given, one] if len(given) == 1 else [*given, one][:3]
            start, stop, step = [self.snapshot(self.cast(v, INT, "python")) for v in parts]
            known = all(v.static is not NOTHING for v in parts)
            if not known or step.static == 0:
                self.check(f"{step.text} == 0")
            count = self.let(INT, f"trips({start.text}, {stop.text}, {step.text})")
            some = known and step.static != 0 and len(range(start.static, stop.static, step.static)) > 0
            text = "(long long)((Bits){} + (Bits){} * (Bits){})"
            return count, lambda j: Value(PYTHON[int], self.let(INT, text.format(start.text, j, step.text))), some
        x = self.visit(node)
        if isinstance(x, Items):
            return str(len(x.items)), lambda j: self.entry(x, j), bool(x.items)
        if isinstance(x, Thing) and type(x.thing).__name__ in ("tuple", "list", "ndarray"):
            return self.unit.captured_table(x).length.text, lambda j: self.entry(x, j), len(x.thing) > 0
        raise Untranslatable(f"a loop over {ast.unparse(node)} cannot run on a GPU", "Loop over range(n).")

    def loop(self, node: Any, write: Any, forever: Any, some: bool) -> None:
        """A loop. `write` begins its body, and gives its head and the variables with which it ends."""
        names = sorted(stored([node]))
        entry, marked = self.env, len(self.returns)
        kinds = {n: entry.get(n, UNSET) for n in names}
        flag, outer = self.unit.fresh("w"), self.lines
        while True:
            del self.returns[marked:]
            before: list[Any] = []
            lines: list[Any] = []
            self.env = dict(entry)
            for n, kind in kinds.items():
                self.env[n] = kind if isinstance(kind, Missing) else self.moved(n, kind, [(entry[n], before)])
            loop = Loop(flag)
            self.loops.append(loop)
            self.lines = lines
            head, leaving = write(loop)
            self.lines = outer
            backs = [self.within(node.body, self.env, lines), *loop.continues]
            self.loops.pop()
            backs = [b for b in backs if b[0] is not None]
            found = {n: reduce(joined, [env.get(n, UNSET) for env, _ in backs], kinds[n]) for n in names}
            if all(same(kinds[n], found[n]) for n in names):
                break
            kinds = found
        for n in names:
            ends = [(env.get(n, UNSET), slot) for env, slot in backs]
            if not isinstance(kinds[n], Missing):
                self.moved(n, kinds[n], ends)
            if some and backs:  # what it was before is not left
                leaving[n] = self.moved(n, reduce(joined, [x for x, _ in ends]), ends)
        self.lines += [f"{flag} = true;", before, head, lines, "}"]
        self.declared.append(f"bool {flag} = true;")
        self.after(node, None if forever() else leaving, loop)

    def after(self, node: Any, leaving: Any, loop: Loop) -> None:
        """What is done where a loop ends by itself, and the variables after it."""
        if not loop.breaks:
            self.env = leaving
            if leaving is not None:
                self.block(node.orelse)
            return
        lines: list[Any] = []
        end = self.within(node.orelse, leaving, lines)
        self.env = self.merged([end, *loop.breaks])
        self.lines += [f"if ({loop.flag}) {{", lines, "}"]


def same(a: Any, b: Any) -> bool:
    """Whether joined types are one."""
    if isinstance(a, Items) and isinstance(b, Items):
        return all(same(x, y) for x, y in zip(a.items, b.items, strict=True))
    kinds = [x.type if isinstance(x, Value) else x for x in (a, b)]
    if all(isinstance(x, Type) for x in kinds):
        return bool(kinds[0] == kinds[1])
    if isinstance(a, Missing) or isinstance(b, Missing):
        return isinstance(a, Missing) and isinstance(b, Missing)
    return a is b


def returned(node: ast.expr) -> ast.Return:
    return ast.copy_location(ast.Return(node), node)
