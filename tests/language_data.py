"""Cases: unpacking, containers, assignment, patterns."""

from __future__ import annotations

import collections
import copy
import dataclasses

import numpy as np

from .language import VECTOR, case


@dataclasses.dataclass
class Point:
    a: float
    b: object = 2.0

    def norm(self):
        return self.a * self.a + self.b * self.b


@case(VECTOR)
def unpacking(x):
    a, *b, c = x
    (p, q), r = b, c
    p, q = q, p
    a, p = p * a, a * q
    [u, (v, *w)] = [a, (p, q, r)]
    first, second, *_ = (*x[:2], *x)
    return a * p + q * r + len(b) + u * v + w[0] * w[1] + first * second


@case(VECTOR)
def targets_that_are_places(x):
    pair, table, s = [0, 0], {}, 0.0
    for pair[1] in x:
        s += pair[1] * pair[1]
    for table["k"], j in zip(x, range(3)):
        s += table["k"] * j
    pair[0], table["z"] = x[0], x[1] * x[2]
    for i, (u, v) in enumerate(zip(x, x[::-1])):
        s += i * u * v
    for i, *rest in [(1, x[0], x[1])]:
        s += rest[0] * rest[1] * i
    return s + pair[0] * table["z"]


@case(1.7)
def several_targets(x):
    a = b = c = x * x
    a += 1.0
    (d, e) = [f, g] = (x, a)
    return a * b + c * d + e + f * g


@case(1.7)
def list_methods(x):
    items = [x] * 3
    items.extend([x, x])
    items.insert(0, x * 2.0)
    items.append(x**3)
    last = items.pop()
    items = items + [x * 5.0]
    items += [x * 7.0]
    items *= 2
    items.reverse()
    items[1:3] = [x * x]
    items[::2] = [2.0 * v for v in items[::2]]
    del items[0], items[-1]
    items.remove(x)
    copied = items.copy()
    items.clear()
    return sum(copied) * last + copied.index(x) * x + copied.count(x) * x + len(items) + copied[-1]


@case(1.7)
def list_operators(x):
    joined = [x] + [x * x, 2.0]
    return joined, (x,) + (x, 3), [x, 2] * 2, 3 * (x,), [*joined, *(x,)], joined[1:] + joined[:1]


@case(1.7)
def dict_methods(x):
    d = dict(a=x, b=x * x)
    more = {**d, "c": x}
    d.update(a=x * x)
    d.update({"e": x})
    popped = d.pop("b")
    d.setdefault("z", x)
    d |= {"y": x * 2.0}
    union = d | {"w": x**3}
    keys = [k for k in union]
    values = sum(d.values()) + sum(v for _, v in union.items())
    del d["a"]
    return values + popped + more["c"] * more["a"] + d.get("none", x) + len(keys) + ("a" in d) * x


@case(1.7)
def sets(x):
    s = {x, x * x, x}
    s.add(x * 3.0)
    s |= {x * 5.0}
    return sum(s | {x * 7.0}) + sum(s & {x}) + sum(s - {x}) + len(s) + (x in s)


@case(1.7)
def standard_collections(x):
    default = collections.defaultdict(float)
    default["q"] += x
    default["q"] += x * x
    queue = collections.deque([x], maxlen=4)
    queue.append(x * x)
    queue.appendleft(1.0)
    queue.rotate(1)
    queue.extend([x, x])
    ordered = collections.OrderedDict(a=x)
    ordered["b"] = x * x
    ordered.move_to_end("a")
    chain = collections.ChainMap({"a": x}, {"b": x * x})
    counter = collections.Counter({"a": x})
    counter["a"] += x
    Pair = collections.namedtuple("Pair", "p q")
    pair = Pair(x, q=x * x)
    return (
        default["q"] + queue[1] * queue[-1] + list(ordered.values())[0] + chain["a"] * chain["b"] + counter["a"]
        + pair.p * pair.q + pair._replace(p=x * 3.0).p + pair[0]
    )  # fmt: skip


@case(1.7)
def nested_containers(x):
    tree = {"a": {"b": [x, (x * x, [2.0 * x])]}, "c": [[x] * 2 for _ in range(2)]}
    tree["a"]["b"][0] = tree["a"]["b"][1][1][0] * x
    tree["c"][0][1] *= 3.0
    return tree["a"]["b"][0] + sum(sum(row) for row in tree["c"])


@case(1.7)
def containers_come_out(x):
    return {"a": x, "b": [x * x, None, (x, "text", 3)], 7: Point(x, 3.0).norm()}, True


@case(VECTOR)
def dataclasses_(x):
    p, q = Point(x[0]), Point(x[1], x[1] * x[2])
    p.a *= 2.0
    p.b += x[3]
    r = dataclasses.replace(p, a=x[0] * 3.0)
    fields = dataclasses.astuple(Point(1.0, 2.0))
    return p.norm() * q.norm() + r.a + r.b + fields[1]


@case(VECTOR)
def augmented_assignment(x):
    class Place:
        pass

    numbers, place = {"a": x[0]}, Place()
    items = [x[1], 2.0]
    numbers["a"] *= x[1]
    items[0] += numbers["a"]
    items[-1] **= x[0]
    place.v = x[0]
    place.v -= items[0]
    place.v /= x[1]
    total = x[2]
    total += 1.0
    total -= x[0]
    total *= x[1]
    total /= x[2]
    total **= 2
    total %= 0.7
    return numbers["a"] + items[0] * items[1] + place.v + total


@case(VECTOR)
def augmented_assignment_of_arrays(x):
    y = x.copy()
    alias = y
    y[0] += x[1]
    y[1:] *= x[0]
    z = x * 1.0
    z += y
    z -= 1
    z *= y
    z /= 2
    z **= 2
    z[::2] += z[1::2]
    return alias[0] * y[1] + z.sum() + alias.sum()


@case(VECTOR)
def an_array_filled_entry_by_entry(x):
    out = np.zeros(4)
    for i, v in enumerate(x):
        out[i] = v * v
    reverse, copied = out[::-1], out.copy()
    out[0] = 5.0
    return sum(reverse) * sum(copied) + max(out) + sorted(out)[1] + [*out][2] + out.tolist()[1] + reverse[0]


@case(VECTOR)
def a_plain_array_in_containers_then_filled(x):
    out = np.zeros(4)
    items, named, point = [out], {"o": out}, Point(out, out)
    out[1:] = x[1:]
    copies = copy.copy(out), copy.deepcopy(items)[0], copy.deepcopy(point).a, copy.copy(items)[0]
    weights = (c.sum() * (k + 1.0) for k, c in enumerate(copies))
    return np.stack([out, x]).sum() + (named["o"] * point.b).sum() + np.concatenate(items)[1] + sum(weights)


@case(1.7)
def shallow_and_deep_copies(x):
    items = [x, [x * x]]
    deep, shallow = copy.deepcopy(items), copy.copy(items)
    items[1][0] = 0.0
    p = Point(x, [x])
    q = copy.copy(p)
    q.a = q.a * 2.0
    return deep[1][0] + shallow[1][0] + p.a * q.a + copy.deepcopy(p).b[0] + items[:][0] + list(items)[0]


@case(1.3)
def match_statements(x):
    s = 0.0
    for v in (1, "a", (x, 2.0), {"k": x * x, "l": 1}, Point(x, 3.0), [x, x * 2.0, x * 3.0], None, x):
        match v:
            case 1 | 2:
                s += x
            case str():
                s += 2.0 * x
            case (a, 2.0):
                s += a * x
            case {"k": z, **rest}:
                s += z * len(rest)
            case Point(a=first, b=second) if first > 1.0:
                s += first * second
            case [first, *others]:
                s += first * sum(others)
            case float(number):
                s += number * number
            case _:
                s += 1.0
    return s


@case(1.7)
def comparing_containers(x):
    return x * ([x, 1.0] < [x, 2.0]) + x * ((x,) == (x,)) + x * (x in (x, 2)) + (x if [x] != [1.0] else 0.0)


@case(VECTOR)
def indices(x):
    i = np.array([0, 2])
    n = int(x[0])
    return (
        x[i].sum() * i.sum() + x[i[0]] * n + x[n] + x[-1] * x[[1, 1, 2]].sum() + x[x > 1.0].sum() + x[..., None][1, 0]
        + x[np.newaxis, 1:3].sum() + x[x.argmax()] * len(x) + x[slice(None, None, 2)][1]
    )  # fmt: skip
