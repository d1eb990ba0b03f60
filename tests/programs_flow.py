"""Snippets: exceptions, context managers, generators, closures, match, star arguments, functools, itertools."""

FLOW = (
    """
try:
    ~v = $s
    $body
    «¦if $q:
        $p
        raise ValueError(~v)»
except ValueError as ~e:
    ~v = «0.5 * ~e.args[0]¦$s»
«¦else:
    ~v = ~v * 0.5
    $p»
«¦finally:
    ~u = 0.3»
=> ~v
""",
    """
class ~Far(Exception):
    def __init__(self, by):
        super().__init__(by)
        self.by = by
def ~help(u):
    if u > $t:
        raise ~Far(0.5 * u)
    return «u * 0.7¦$s(u)»
---
try:
    ~v = ~help($s)
except ~Far as ~e:
    ~v = «~e.by¦~e.args[0]¦~e.by * $s»
=> ~v
""",
    """
try:
    ~v = {"a": $s}["«a¦b»"] * (1 // «1¦0»)
except (KeyError, ZeroDivisionError):
    ~v = $s
=> ~v
""",
    """
@contextlib.contextmanager
def ~held(u):
    try:
        yield «0.5 * u¦u * u * 0.3»
    finally:
        u = 0.0
        $p
---
with ~held($s) as ~v«¦, ~held($s) as ~u»:
    $body
    ~v = ~v + 0.1
=> ~v
""",
    """
def ~walk(u, k):
    while k > 0:
        k -= 1
        yield u
        u = «0.5 * u + 0.1¦$s(u)»
    «¦return u»
---
~v = «sum(~walk($s, 3)) * 0.3¦max(~walk($s, 2))¦next(~walk($s, 2))¦[*~walk($s, 3)][-1]¦
        sum(map(lambda t: t * t, ~walk($s, 2))) * 0.2¦list(itertools.islice(~walk($s, 9), 3))[1]»
for ~t in ~walk($s, 2):
    ~v = ~v + 0.2 * ~t
    «¦if ~v > $t:
        break»
=> ~v
""",
    """
def ~walk(start):
    total = start
    while True:
        got = yield 0.5 * total
        total = 0.5 * total + («got or 0.2¦0.3 if got is None else got»)
---
~g = ~walk($s)
~v = next(~g)
~v = ~v + 0.3 * ~g.send($s)
=> ~v
""",
    """
def ~walk(xs):
    yield from «xs¦(0.5 * t for t in xs)»
    yield $c
---
~l = list(~walk(«[$s, $s]¦$a»))
~v = 0.3 * sum(~l)
~g = (t * $s for t in ~l if t > $t)
~u = sum(~g«, 0.1¦, $s») * 0.3
=> ~v, ~u
""",
    """
def ~make(u):
    total = u
    def step(by=0.3):
        nonlocal total
        total = «0.5 * total + by¦total * 0.8»
        return total
    def look():
        return total
    return step, look
---
~step, ~look = ~make($s)
~step($s)«
~step()¦»
~v = ~look()«¦ + 0.3 * ~step($s)»
=> ~v
""",
    """
~l = [$s, $s]
~fs = [lambda t, k=k: t * ~l[k] for k in range(2)]
~v = 0.5 * ~fs[0]($s)«¦ + 0.3 * ~fs[1](0.4)¦ + 0.2 * sum(f(0.5) for f in ~fs)»
«¦~l[0] = $s
~v = ~v + 0.2 * ~fs[0](0.5)»
=> ~v
""",
    """
match «[$s, $s]¦($s, [$s, 0.4])¦{"a": $s, "b": $s}¦$s¦[$s]»:
    case [~p, [~q, *_]]:
        ~v = ~p * 0.5 + ~q * 0.2
    case [~p, ~q] if ~p > $t:
        $p
        ~v = ~p * 0.5
    case [~p, ~q]:
        ~v = ~q
    case {"a": ~p, **~r}:
        ~v = ~p + 0.3 * ~r["b"]
    case float(~p) if ~p > 0.2:
        ~v = 0.5 * ~p
    case float() | int():
        ~v = 0.1
    case ~o:
        ~v = 0.2
=> ~v
""",
    """
def ~help(u, *more, k=0.5, **named):
    return 0.3 * u + 0.2 * sum(more) + k * named.get("z", 0.3)
---
~v = ~help(«$s¦$s, $s¦$s, $s, k=$s¦*[$s, $s, $s]¦*($s, 0.3), z=$s¦$s, **{"z": $s, "k": 0.4}¦k=0.3, *[$s]»)
=> ~v
""",
    """
~f = functools.partial(lambda p, q, r=0.5: 0.4 * p + q * r, $s«¦, r=$s»)
~v = ~f($s)
~v = ~v «+¦*» functools.reduce(lambda p, q: 0.5 * p «+¦*» q, [$s, $s, 0.4]«¦, $s»)
=> ~v
""",
    """
~l = [$s, $s, $s]
~v = 0.3 * «sum(itertools.accumulate(~l))¦sum(p * q for p, q in itertools.pairwise(~l))¦
        sum(itertools.chain(~l, [$s]))¦sum(p * q for p, q in itertools.product(~l, repeat=2))¦
        sum(p * q for p, q in itertools.combinations(~l, 2))¦
        sum(itertools.starmap(lambda p, q: p * q, zip(~l, ~l[1:])))¦sum(itertools.takewhile(lambda t: t < $t, ~l))¦
        sum(itertools.islice(itertools.cycle(~l), 4))¦[*itertools.accumulate(~l, lambda p, q: 0.5 * p * q)][-1]¦
        sum(p - q for p, q in itertools.zip_longest(~l, ~l[:1], fillvalue=0.2))¦
        sum(sum(g) for k, g in itertools.groupby(~l, key=lambda t: t > $t))¦
        sum(map(lambda p, q: p * q, ~l, reversed(~l)))¦sum(filter(lambda t: t > $t, ~l))»
=> ~v
""",
    """
~l = [$s, $s]
~a = $a
~v = [t * $s for t in ~a if t > $t]
~v = sum(~v, 0.2) * «0.3¦len(~v) * 0.1»
~u = sum([p * q for p in ~l for q in «(0.5, p)¦~l»]) * 0.3
=> ~v, ~u
""",
    """
if (~v := $s) > $t and (~u := 0.5 * ~v) < 2.0:
    $p
    ~v = ~v * ~u
while (~v := 0.5 * ~v + 0.1) > 0.6517:
    ~u = 0.3
    $body
~w = [~y := $s, ~y * 0.5][1]
=> ~v, ~w
""",
    """
def ~deco(f):
    @functools.wraps(f)
    def inner(*args, **kwargs):
        return 0.5 * f(*args, **kwargs)«¦ + 0.1 * args[0]»
    return inner
@~deco
def ~help(u, k=0.3):
    return «u * k + 0.2¦$s(u, k)»
---
~v = ~help($s«¦, k=$s»)
=> ~v
""",
    """
def ~f(~t, k=2):
    $body(~t)
    return ~t if k == 0 else 0.5 * ~f(«~t * 0.9¦$s(~t)», k - 1) + 0.2 * ~t
~v = ~f($s)
=> ~v
""",
    """
~x = $s
assert ~x == ~x, f"{~x:.3f}"
~v = ~x if not ~x else ~x or $s
~v = (~v and $s) + 0.3 * (0.0 or ~x)
«¦del ~x»
=> ~v
""",
    """
for ~k, (~p, ~q) in enumerate(zip([$s, $s], «[$s, 0.3]¦$a»)):
    «~v = ~p * ~q¦if ~p > $t:
        $p
        continue»
    $body
else:
    ~v = $s
=> ~v
""",
)
