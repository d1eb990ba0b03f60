"""Snippets: several names of the same memory, writes that overlap what they read, and numbers of several types."""

ALIASES = (
    """
~w = $b«¦[::-1]¦[1:]¦.reshape(-1)¦[...]¦[:, None]¦[None].T¦[::-1][1:]»
~w[«0¦-1¦...¦:1»] «=¦+=¦*=» $s
~v = $b[$i]«¦ + 0.3 * ~w.sum()»
=> ~v
""",
    """
~y = $b * $b
«$b[1:] = $b[:-1]¦$b[:-1] += $b[1:]¦$b[::-1] = $b¦$b[1:] *= $b[:-1]¦$b[...] = $b[::-1]¦
        $b[:-1], $b[1:] = $b[1:], $b[:-1].copy()¦$b += $b[::-1]¦$b[1:] -= 0.5 * $b[:1]¦np.copyto($b[1:], $b[:-1])»
~v = 0.3 * np.sum(~y * $b)
=> ~v
""",
    """
«np.add.at($b, [0, 0, -1], $s)¦np.add.at($b, [0, -1, 0], [$s, $s, $s])¦$b[[0, 0, -1]] = [$s, $s, $s]¦
        $b[[0, 0]] += [$s, $s]¦$b[[-1, 0, -1]] = $b[[0, 0, -1]]¦$b[[0, 1]] = $b[[1, 0]]¦
        np.subtract.at($b, (np.array([0, 0]),), $b[:2])¦$b[np.array([0, 0])] *= $s»
~v = $b[0] + 0.3 * $b[-1]
=> ~v
""",
    """
~k = $b > $t
«$b[~k] = $s¦$b[~k] *= $s¦$b[~k] += $b[::-1][~k]¦$b[~~k] = $b[~k].sum() * 0.3¦np.putmask($b, ~k, 0.5 * $b)¦
        np.copyto($b, 0.5 * $b, where=~k)¦np.place($b, ~k, [$s, $s])¦~k[0] = True
$b[~k] -= $s¦$b[np.nonzero(~k)] = $s»
«¦~k[...] = False»
~v = 0.4 * $b.sum()
=> ~v
""",
    """
«np.multiply($b, $s, out=$b)¦np.add($b[:-1], $b[1:], out=$b[1:])¦np.tanh($b, out=$b)¦np.cumsum($b, out=$b)¦
        np.subtract($b, $b[::-1], out=$b)¦np.copyto($b, $a)¦$b.sort()¦$b[::-1].sort()¦
        np.clip($b, -0.9531, 0.9531, out=$b)¦$b.fill($s)¦$b.put([0, -1], $s)¦$b.flat[0] = $s¦$b.flat = $a¦
        np.negative($b, $b)»
~v = $b[0] * 0.5«¦ + 0.2 * $b[-1]»
=> ~v
""",
    """
~w = $B«.T¦[::-1]¦.reshape(-1)¦[:, ::-1]¦[1:].T¦.T[::-1]¦.ravel()¦.swapaxes(0, 1)[0]¦[None]¦.T.reshape(-1)»
~w[«0¦-1¦...¦::2¦::-1»] «=¦+=¦*=» «$s¦0.5 * ~w[«0¦-1»]»
~v = 0.3 * $B.sum()«¦ + $B[0, -1]¦ + 0.2 * ~w.sum()»
=> ~v
""",
    """
«$B[0] = $B[1]¦$B[0], $B[1] = $B[1].copy(), $B[0].copy()¦$B[:, 0] = $B[:, -1]¦$B += $B[0]¦$B *= $B[:, :1]¦
        $B[[0, 0]] = $B[[1, 0]]¦$B[np.arange(2), 0] = $s¦np.fill_diagonal($B, $s)¦$B.T[...] *= $s¦$B.sort(axis=0)¦
        $B[...] = $B.copy()[::-1]¦$B[:, [0, 0]] += $k[:, None]¦np.einsum("ii->i", $B[:2, :2])[...] = $s¦
        np.add.at($B, (0, [0, 0]), $s)¦np.add.at($B.T, 0, $k)¦$B.diagonal().copy()[0] = 3.0»
~v = 0.3 * $B.sum()
~w = $B[0] * $B[1]
~v = ~v + ~w[0]
=> ~v
""",
    """
~l = [$b, $b]
~o = {"a": ~l, "b": $b[1:]}
~l[0][0] = $s
«~o["b"][-1] += $s¦~o["b"] *= 0.5¦~o["a"][1] *= $s¦~l[1] = ~l[1] * 0.5
~l[1][0] = 0.9¦~l[1] += $a¦del ~l[0]
~l[0][-1] = $s»
~v = 0.4 * $b.sum()
=> ~v
""",
    """
~w = $f
~x = «~w¦~w[:]¦~w.view()¦np.asarray(~w)¦np.atleast_1d(~w)¦~w.astype(float)¦~w.astype(float, copy=False)¦
        np.array(~w)¦np.array(~w, copy=False)¦np.copy(~w)¦np.ascontiguousarray(~w)¦np.ravel(~w)¦np.squeeze(~w)»
~x[0] = $s
«~w[-1] = $s¦~w *= 0.5¦~w = ~w + ~x»
~v = ~w[0] * 0.5 + ~x[-1]
=> ~v, ~w:n
""",
    """
def ~help(a, k):
    a[0] = «k¦k * a[-1]»
    b = a[«1:¦::-1¦...»]
    b *= 0.5
    return b
---
~w = ~help(«$b¦$f», $s)
«¦~w[-1] = $s¦~w += 0.1»
~v = ~w[-1]«¦ + 0.3 * ~w.sum()»
=> ~v
""",
    """
~w = np.«zeros¦empty¦ones»($n)
~y = 0.0
for ~k in range($n):
    ~w[~k] = $s«¦ * (0.5 + ~k)¦ + 0.5 * ~w[~k - 1] if ~k else $s¦ + ~y»
    ~y = ~w[~k] * 0.5
    $body
«¦~w[::-1] *= ~y¦~w[0] = ~w[-1]»
=> ~y, ~w:n
""",
    """
~v = «float($s)¦np.float64($s)¦$a[0].item()¦$a[:1].item()¦float($a[0])¦$a.sum().item()¦np.array($s).item()¦
        np.asarray($s)[()]¦np.sum($s)¦np.float64($s).item()¦abs(float($s))¦$a.item(0)¦float(np.float32($c)) * $s¦
        np.array($s) * 1.0»
«~v = float(~v)¦~v = math.sin(~v)¦~v = np.sin(~v) * 0.5»
=> ~v
""",
    """
~w = $a.astype(np.float32)«¦ * 0.5¦.astype(np.float64)¦ * np.float32(0.5)»
~v = «float(~w[0])¦~w.sum().item()¦np.float64(~w[-1])¦0.5 * float(np.dot(~w, ~w))¦sum(~w.tolist()) * 0.3»
«¦~w[0] = $s
~v = ~v + 0.5 * float(~w[0])»
=> ~v
""",
    """
~x = «2 * $s¦$s * np.float64(0.5)¦np.float64($s) + $s¦$s - np.int64(1)¦True * $s¦$s ** 2 / 2¦
        np.sin($s) * math.cos($s)¦$s * np.ones(())¦(1 - $s) / 3¦$s // 10.0 + $s¦$s % 7.3517¦divmod($s, 5.3119)[1]¦
        round($s, 1) * $s¦int($s) + 0.5 * $s¦max(0, $s)¦min($s, 1)»
~v = ~x * 0.4
=> ~v
""",
    """
~w = np.broadcast_to($s, ($n,)) * $a
~x = np.«atleast_2d(~w)¦expand_dims(~w, 0)¦tile(~w, (2, 1))¦stack([~w, ~w])¦vstack([~w, $a])¦array([~w, $a])¦
        outer(~w, [0.5, 0.3]).T»
«¦~x[0, 0] = $s¦~x *= 0.5¦~x[-1] += ~w»
~v = 0.3 * ~x.sum()
~w = 0.5 * ~x[0] + ~x[-1]
=> ~v, ~w:n
""",
    """
~w = «np.split($f, [1])[0]¦np.array_split($f, 2)[0]¦np.hsplit($f, [1])[0]»
~w *= $s
~x, ~y = np.«zeros(2)¦ones((2, 2))»
~v = ~w[0] * 0.5 + np.sum(~x)
=> ~v
""",
)
