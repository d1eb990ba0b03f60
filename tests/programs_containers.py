"""Snippets: lists, dicts and tuples of recorded values, nested, and changed while they are in use."""

CONTAINERS = (
    """
~l = [$s, $s, $s]
«~l.append($s)¦~l.insert(0, $s)¦~l[1:] = [$s]¦del ~l[0]¦~l.extend([$s, 0.3])¦~l += [$s]¦~l[::2] = [$s, $s]¦
        ~l.reverse()¦~l.sort()¦~l *= 2»
~v = ~l[-1]«¦ * ~l[0]¦ + 0.2 * sum(~l)¦ + 0.1 * len(~l)¦ * ~l.pop()»
=> ~v
""",
    """
~l = [$s, $s, $s]
~v = «sorted(~l)[0]¦sorted(~l, key=lambda t: -t)[0]¦sorted(~l, key=abs, reverse=True)[1]¦
        max(~l, key=lambda t: t * t)¦min(~l, key=math.sin)¦max(~l)¦sum(~l[1:]) * 0.3¦~l[~l.index(min(~l))]»
~l.sort(key=lambda t: «t¦-t¦math.cos(t)»)
=> ~v, ~l:list3
""",
    """
~d = {"p": $s, "q": $s}
«~d["p"] += $s¦~d.update(q=$s, r=0.3)¦~d.setdefault("r", $s)¦~d = {**~d, "q": $s}¦~d |= {"q": $s}¦for ~k in list(~d):
    ~d[~k] = 0.5 * ~d[~k]¦~d["q"] = ~d.pop("p")
~d["p"] = $s¦~d = {k: 0.5 * t for k, t in ~d.items()}»
~v = ~d["p"]«¦ * ~d["q"]¦ + 0.2 * sum(~d.values())¦ + ~d.get("z", 0.2)»
~u = «~d["q"]¦max(~d.items(), key=lambda kv: kv[1])[1]¦min(~d.values())¦[t for k, t in sorted(~d.items())][0]¦
        ~d[max(~d, key=~d.get)]»
=> ~v, ~u
""",
    """
~d = {"a": [$s, $s], "b": ($s, {"c": $s})}
«~d["a"][0] = $s¦~d["a"][1] += $s¦~d["b"][1]["c"] *= $s¦~d["a"].append($s)¦~d["a"], ~e = [$s, 0.2], ~d["a"]¦
        ~e = copy.deepcopy(~d)
~e["a"][0] = 0.3»
(~p, *~q), (~r, ~s) = ~d.values()
~v = ~p * ~r + 0.3 * ~s["c"]
=> ~v, ~p
""",
    """
~l = [$s, $s]
for ~k in range(«2¦3»):
    «~l.append(0.5 * ~l[-1] + 0.3 * ~l[-2])¦~l[~k % 2] = ~l[1 - ~k % 2] * 0.7¦~l = [0.5 * t for t in ~l]¦
        ~l.append(~l.pop(0) * 0.8)¦~l = ~l[1:] + ~l[:1]¦~l[0], ~l[1] = ~l[1], 0.5 * ~l[0]»
    $body
~v = 0.4 * sum(~l)
=> ~v
""",
    """
~l = [[$s, $s], [$s, 0.5]]
«~l[0][1] = $s¦~l[0] = ~l[1]¦~l[1][0] += $s¦~l = [list(r) for r in zip(*~l)]¦~e = ~l[0]
~e[0] = $s»
~m = np.array(~l)«¦.T»
~v = 0.3 * «~m[0, 1]¦np.sum(~m)¦sum(map(sum, ~l))¦sum(a * b for a, b in zip(*~l))»
=> ~v
""",
    """
~d = «collections.defaultdict(list)¦collections.defaultdict(list, {0: [$s]})»
for ~k, ~t in enumerate([$s, $s, $s]):
    ~d[~k % 2].append(~t)
~v = 0.3 * sum(sum(r) for r in ~d.values())«¦ + ~d[0][0] * ~d[1][-1]»
=> ~v
""",
    """
~l = «collections.deque([$s, $s, $s], maxlen=3)¦collections.deque([$s, $s, $s])»
«~l.append($s)¦~l.appendleft($s)¦~l.rotate(1)¦~l.extend([$s, $s])»
~v = ~l.popleft()«¦ * ~l[-1]¦ + 0.2 * sum(~l)»
=> ~v
""",
    """
~t = ($s, $s, $s)
~v = «~t[0]¦~t[-1]¦sum(~t[1:])¦max(~t)¦~t[::-1][0]¦(~t + (0.3,))[1]¦sum(x * y for x, y in zip(~t, ~t[1:]))» * 0.4
«~p, ~q, ~r = ~t¦~p, *~q = ~t
~q = ~q[0]¦*~p, ~q = ~t
~p = ~p[0]¦[~p, (~q, _)] = ~t[0], ~t[1:]»
=> ~v, ~p, ~q
""",
    """
~l = [$f, $f]
«~l[0][0] = $s¦~l[0] *= $s¦~l[1][:] = ~l[0]¦~l[0] = ~l[1]
~l[1][-1] = $s¦~l.append(~l[0])
~l[-1][0] += $s¦for ~t in ~l:
    ~t *= 0.5¦for ~t in ~l:
    ~t[0] = $s¦~e = {"z": ~l[0]}
~e["z"][...] = $s»
~w = «~l[0]¦~l[-1]¦sum(~l) * 0.4¦np.stack(~l).sum(axis=0) * 0.3¦np.concatenate(~l)[:$n]»
~v = ~l[0][0] + 0.3 * np.sum(~l[1])
=> ~v, ~w:n
""",
    """
~v, ~u = $s, $s
«~v, ~u = ~u, ~v¦~v, ~u = ~u * 0.5, ~v + 0.1¦~l = [~v, ~u]
~l[0], ~l[1] = ~l[1], ~l[0]
~v = ~l[0]¦(~v, ~u), ~z = [~u, ~v], 0.4¦~v = ~u = 0.5 * (~v + ~u)»
=> ~v, ~u
""",
    """
~s = {0.2, 0.7}
~v = sum(t * $s for t in sorted(~s))«¦ + 0.1 * len(~s)»
~l = [$s, $s]
~d = {("a", k): t for k, t in enumerate(~l)}
~u = ~d["a", 1]«¦ * ~d[("a", 0)]»
=> ~v, ~u
""",
    """
~w = «$a.tolist()¦[*$a]¦list($a)¦list(map(float, $a))»
«¦~w[0] = $s¦~w.append($s)¦~w = [t * 0.5 for t in ~w]»
~v = ~w[0] * «0.5¦~w[-1]¦len(~w) * 0.2»
~x = np.array(~w[:$n])
=> ~v, ~x:n
""",
)
