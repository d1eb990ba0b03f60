"""Snippets: classes of the user's and what they do by methods, properties, operators and inheritance."""

OBJECTS = (
    """
class ~P:
    «scale = 0.5¦scale = 0.5
    count = 2»
    def __init__(self, a, b=0.3):
        self.a = a
        self.b = b
    def at(self, u):
        return self.scale * self.a + «0.3 * u¦0.3 * $s(u, self.a)¦self.b * math.sin(u)»
---
~o = ~P($s«¦, $s¦, b=$s»)
~v = ~o.at($s)
=> ~v, ~o.a
""",
    """
~o = types.SimpleNamespace(a=$s, b=$f, items=[$s, $s])
«~o.a += $s¦~o.a = ~o.a * $s¦~o.b[$i] = $s¦~o.b *= $s¦~o.items.append(~o.a)¦~o.b = ~o.b + $a»
~v = ~o.a * ~o.items[-1] + ~o.b[0]
~w = ~o.b
«¦~w[0] = $s»
=> ~v, ~o.a, ~w:n
""",
    """
class ~P:
    def __init__(self, a):
        self._a = a
        self.seen = 0
    @property
    def a(self):
        self.seen += 1
        return «self._a¦$s(self._a)»
    @a.setter
    def a(self, value):
        self._a = «value¦0.5 * value¦math.tanh(value)»
    @functools.cached_property
    def twice(self):
        return self._a * 2.0
---
~o = ~P($s)
«~o.a = $s¦~o.a += $s¦~o.a *= ~o.twice»
~v = ~o.a«¦ + 0.2 * ~o.twice¦ * ~o.seen»
=> ~v
""",
    """
class ~P:
    def __init__(self, a):
        self.a = a
    def at(self, u):
        return 0.5 * self.a«¦ + 0.3 * u»
    def both(self, u):
        return self.at(u) + 0.1
class ~Q(~P):
    def __init__(self, a, c=0.4):
        super().__init__(«a¦0.5 * a»)
        self.c = c
    def at(self, u):
        return super().at(u) * self.c«¦ + $s(self.c, u)»
---
~o = «~Q¦~P»($s)
~v = 0.5 * ~o.both($s)
=> ~v
""",
    """
class ~P:
    def __init__(self, v):
        self.v = v
    def __call__(self, u, *more, k=0.3):
        return 0.3 * self.v + k * u«¦ + 0.1 * sum(more)»
    def __add__(self, other):
        return ~P(self.v + getattr(other, "v", other))
    __radd__ = __add__
    def __mul__(self, other):
        return ~P(self.v * (other.v if isinstance(other, ~P) else other))
    def __rmul__(self, other):
        return ~P(other * self.v)
    def __neg__(self):
        return ~P(-self.v)
    def __getitem__(self, i):
        return self.v * (0.5 + i)
    def __len__(self):
        return 2
    def __lt__(self, other):
        return self.v < other.v
    def __float__(self):
        return float(self.v)
    def __iadd__(self, other):
        self.v = self.v + other
        return self
---
~o = ~P($s)
~o = «~o + ~P($s)¦~o + $s¦$c * ~o¦-~o * ~P($s)¦sum([~o, ~P($s)])¦max(~o, ~P($s))¦sorted([~o, ~P($s)])[0]»
«¦~o += $s»
~v = math.tanh(«~o.v¦~o($s)¦~o($s, $s, k=$s)¦~o[1]¦sum(~o[i] for i in range(len(~o)))¦float(~o)»)
=> ~v
""",
    """
@dataclasses.dataclass
class ~P:
    a: float
    b: object = 0.5
    items: list = dataclasses.field(default_factory=list)
    def total(self):
        return 0.5 * self.a + «self.b¦sum(self.items)»
---
~o = ~P($s«¦, $s¦, b=$s¦, items=[$s, 0.3]»)
«¦~o.items.append($s)¦~o.a *= $s¦~o = dataclasses.replace(~o, a=$s)¦~o.b = ~o.a»
~v = 0.5 * ~o.total()«¦ + 0.1 * dataclasses.astuple(~o)[0]»
=> ~v
""",
    """
~P = collections.namedtuple("~P", "a b")
---
~o = ~P($s, «$s¦$f[0]»)
«¦~o = ~o._replace(a=$s)»
~v, ~u = ~o
~v = ~v * «~o.b¦~o[1]¦~o[-1]¦~o._asdict()['b']» * 0.5
=> ~v, ~u
""",
    """
class ~P:
    total = 0.0
    def __init__(self, items):
        self.items = items
    def __iter__(self):
        «return iter(self.items)¦for t in self.items:
            yield 0.5 * t¦yield from self.items»
    def __contains__(self, x):
        return any(t > x for t in self.items)
    @classmethod
    def made(cls, *items):
        return cls(list(items))
    @staticmethod
    def half(u):
        return 0.5 * u
---
~o = ~P«([$s, $s])¦.made($s, $s, 0.4)¦($a)»
~v = 0.3 * sum(~o)
«¦if $t in ~o:
    ~v = ~P.half(~v)¦~v = max(~o)¦~v, *_ = ~o¦for ~t in ~o:
    ~v = ~v + 0.2 * math.sin(~t)»
=> ~v
""",
    """
class ~P:
    def __init__(self, a):
        self.a = a
    def grow(self, by):
        self.a[«0¦-1¦:¦::-1¦...»] «=¦+=¦*=» by
        return self
---
~o = ~P(«$f¦$b»)
~w = ~o.a
~o.grow($s)«¦.grow($s)»
«¦~o.a = ~o.a * 0.5»
~v = ~w[$i] + 0.5 * ~o.a[0]
=> ~v
""",
    """
class ~P:
    def __enter__(self):
        self.k = «0.5¦1.5»
        return self
    def __exit__(self, kind, error, trace):
        self.k = self.k * 0.5
        return kind is ValueError
---
~v = $s
with ~P() as ~o:
    ~v = ~v * ~o.k
    $p
    $body
    «¦if $q:
        raise ValueError("left")
    ~v = ~v + 0.1»
~v = ~v + 0.1 * ~o.k
=> ~v
""",
    """
class ~P:
    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return 0.25 * len(name)
    def __setattr__(self, name, value):
        object.__setattr__(self, name, 0.5 * value)
---
~o = ~P()
~o.a = $s
~v = ~o.a «+¦*» ~o.missing
=> ~v
""",
    """
class ~P:
    __slots__ = ("left", "right", "value")
    def __init__(self, value, left=None, right=None):
        self.value, self.left, self.right = value, left, right
    def total(self):
        below = [n.total() for n in (self.left, self.right) if n is not None]
        return 0.4 * self.value + 0.5 * sum(below)
---
~o = ~P($s, ~P($s)«¦, ~P($s, ~P($s))»)
«¦~o.left.value = $s¦~o.right = ~o.left»
~v = ~o.total()
=> ~v
""",
)
