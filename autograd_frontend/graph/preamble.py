"""The helpers of derivatives as text, for sources that run without this package."""

PREAMBLE = {
    "strong_zero": '''def strong_zero(d, g):
    """`d` with exact zeros where `g` is zero, if it has a NaN there."""
    if not np.isnan(d).any():
        return d
    if isinstance(d, np.ndarray):
        return np.where(g == 0, 0, d)
    return type(d)(0) if g == 0 else d''',
    "filled": '''def filled(d, shape, dtype):
    m = np.empty(shape, dtype)
    m[...] = d
    return m''',
    "unbroadcast": '''def unbroadcast(d, shape):
    """`d` summed over the axes that broadcasting added or stretched."""
    if d.size == np.prod(shape, dtype=int):
        return d.reshape(shape)
    extra = d.ndim - len(shape)
    if d.ndim == 0:
        return filled(d, shape, d.dtype)
    if extra < 0:
        d = d.reshape((1,) * -extra + d.shape)
        extra = 0
    axes = tuple(range(extra)) + tuple(i + extra for i, n in enumerate(shape) if n == 1 and d.shape[i + extra] != 1)
    if axes == (0,) and d.ndim == 2 and d.dtype.char in "df":
        d = (np.ones(d.shape[0], d.dtype) @ d)[None]
    elif axes:
        d = np.add.reduce(d, axis=axes, keepdims=True)
    if extra:
        d = d.reshape(d.shape[extra:])
    return d if d.shape == shape else filled(d, shape, d.dtype)''',
    "fitted": '''def fitted(d, g, shape, dtype, strict):
    """`d` in the shape and dtype of an operand."""
    if strict:
        d = strong_zero(d, g)
    if shape is None:
        return float(np.add.reduce(d, axis=None) if isinstance(d, np.ndarray) else d)
    if isinstance(d, (np.ndarray, np.float64)):
        if d.shape != shape:
            d = unbroadcast(d, shape)
        return d if d.dtype == dtype else d.astype(dtype)
    if dtype is None:
        return d
    return filled(d, shape, dtype) if shape else np.dtype(dtype).type(d)''',
    "times": '''def times(g, x):
    """`g * x`, exactly zero where `g` is."""
    d = g * x
    return d if np.isfinite(x).all() else np.where(g == 0, 0, d)''',
    "where": '''def where(condition, x, y):
    """One or the other; an exact zero in the type of the other."""
    chosen, other = (x, y) if condition else (y, x)
    if type(chosen) is int:
        return np.full(other.shape, chosen, other.dtype)[()] if hasattr(other, "dtype") else type(other)(chosen)
    if type(chosen) is float and isinstance(other, np.generic):
        return type(other)(chosen)
    return chosen''',
    "number": '''def number(x):
    return x''',
    "real": '''def real(x):
    if isinstance(x, complex):
        raise TypeError("a power of a negative float is complex")
    return x''',
    "both": '''def both(a, b):
    return bool(a and b)''',
    "either": '''def either(a, b):
    return bool(a or b)''',
    "invert": '''def invert(a):
    return not a''',
    "bilinear": '''def bilinear(f, g, x):
    """`f(g, x)`, sums of products, of which those with a zero of `g` are exactly zero."""
    d = f(g, x)
    if np.isfinite(d).all() or np.isfinite(x).all():
        return d
    signs = np.where(np.isnan(x), 0, np.sign(x))
    far = ~np.isfinite(x)
    d = f(g, np.where(far, signs, x))
    count, balance = f(abs(np.sign(g)), far.astype(d.dtype)), f(np.sign(g), np.where(far, signs, 0))
    return d + np.where(count == 0, 0, np.where(abs(balance) == abs(count), balance * np.inf, np.nan))''',
}
