"""A session: the memory of a device, and the values that wait to be computed there.

A call on arrays makes an expression, nothing more. Values of one shape wait in a *region*; when memory of one of them
is needed, all that somebody still holds are computed by one kernel. What nobody holds is never stored.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from .expressions import Expr, Launch, leaf, nodes, scalar
from .layouts import extent, laid_out, offset_of, overlap, packed, same
from .spots import LEAVES, NODES, OUTPUTS, Buffer, Region, Spot, Texts, axes_of, crosses, dtype_of, on_device

if TYPE_CHECKING:
    from .array import DeviceArray

MADE = ("call", "row")  # kinds of expressions that are computed, not only copied
SMALL = 12  # nodes up to which a value is computed again for every entry that it is broadcast to


class Session:
    """A device with its arrays. `live`: bytes of all its buffers."""

    def __init__(self, driver: Any, texts: Any = None) -> None:
        self.driver, self.name, self.xp = driver, driver.name, driver.xp
        self.texts = texts or Texts()
        self.live = 0
        self.lock = threading.RLock()
        self.has: dict[Any, bool] = {}  # (function, dtype, dtype of the result) -> whether there is a text
        self.regions: dict[tuple[int, ...], Region] = {}

    def __repr__(self) -> str:
        return f"Session({self.name!r})"

    @property
    def ops(self) -> Any:
        """The functions that rules of derivatives use."""
        from .functions import ops_of

        return ops_of(self)

    @property
    def made(self) -> dict[Any, Any]:
        """Functions that NumPy does not hand to arrays of others, such as `np.array`, and what they are here."""
        from .making import MADE

        return MADE

    def counterpart(self, call: Any) -> Any:
        """What a callable is here: itself, where NumPy finds the way."""
        from .making import counterpart

        return counterpart(call)

    def cotangent(self, x: DeviceArray, given: Any, where: str, what: str = "cotangent") -> Any:
        from .making import cotangent

        return cotangent(self, x, given, where, what)

    def live_bytes(self) -> int:
        return self.live

    # Memory

    def buffer(self, nbytes: int) -> Buffer:
        return Buffer(self, self.driver.empty(nbytes), nbytes)

    def owner(self, layout: np.ndarray, buffer: Buffer | None = None, e: Expr | None = None) -> DeviceArray:
        from .array import DeviceArray

        return DeviceArray(self, layout, None, buffer, e)

    def empty(self, shape: Any, dtype: Any = float, likes: Any = ()) -> DeviceArray:
        """An array with memory, in which nothing has been written."""
        layout = packed(axes_of(shape), dtype_of(dtype), list(likes))
        return self.owner(layout, self.buffer(extent(layout)))

    def full(self, shape: Any, value: Any, dtype: Any) -> DeviceArray:
        """An array that waits to be filled with a number of the host's."""
        dtype = dtype_of(dtype)
        return self.lazy(scalar(np.asarray(value).astype(dtype)[()], dtype), laid_out(axes_of(shape), dtype))

    def zeros(self, shape: Any, dtype: Any = float) -> DeviceArray:
        return self.full(shape, 0, dtype)

    def array(self, x: Any, dtype: Any = None) -> DeviceArray:
        """A copy of an array of the host's, or of CuPy's, laid out alike; an array of this device as it is."""
        if hasattr(x, "layout"):
            if x.session is not self:
                raise ValueError(f"an array of {x.session.name} is used on {self.name}")
            return x if dtype is None else x.astype(dtype, copy=False)  # type: ignore[no-any-return]
        if on_device(x):
            y = self.adopt(x)
            return y._converted(y.dtype if dtype is None else dtype_of(dtype), "K")
        x = np.asarray(x, dtype)
        layout = packed(x.shape, dtype_of(x.dtype), [x])
        order = sorted(range(x.ndim), key=lambda k: -layout.strides[k])
        memory = self.driver.from_host(np.asarray(x.transpose(order), order="C"))
        return self.owner(layout, Buffer(self, memory, extent(layout)))

    asarray = array

    def owned(self, x: DeviceArray) -> DeviceArray:
        """A copy in memory of its own."""
        y = x.copy("K")
        self.memory_of(y)
        return y

    def mirror(self, shape: Any, dtype: Any, strides: Any) -> DeviceArray:
        """Zeros with the given strides; dense ones where entries would overlap."""
        layout = laid_out(shape, dtype)
        if (
            layout.strides == tuple(strides)
            or 0 in shape
            or any(s == 0 and n > 1 for s, n in zip(strides, shape, strict=True))
        ):
            return self.zeros(shape, dtype)
        low = sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s < 0)
        high = sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s > 0)
        layout = laid_out(shape, dtype, strides, -low)
        size = -(-(high - low) // layout.itemsize) + 1
        if low == 0 and size == layout.size:
            return self.lazy(scalar(layout.dtype.type(0), layout.dtype), layout)
        return self.zeros((size,), dtype).view_of(layout)

    def wrap(self, memory: Any) -> DeviceArray:
        """The array over what a library function of CuPy returned."""
        return self.adopt(memory)

    def adopt(self, memory: Any) -> DeviceArray:
        """The array behind a `cupy.ndarray`, or behind any object of the device that CuPy takes without a copy."""
        if type(memory).__module__.partition(".")[0] != "cupy":
            memory = self.driver.foreign(memory)
        low = sum((n - 1) * s for n, s in zip(memory.shape, memory.strides, strict=True) if s < 0 and n > 1)
        layout = laid_out(memory.shape, dtype_of(memory.dtype), memory.strides, -low)
        if low == 0 or not layout.size:
            return self.owner(layout, Buffer(self, memory, extent(layout)))
        buffer = Buffer(self, memory, extent(layout) - low)
        buffer.address += low
        return self.owner(laid_out((buffer.nbytes,), np.uint8), buffer).view_of(layout)

    def to_cupy(self, x: DeviceArray) -> Any:
        """A `cupy.ndarray` that looks at the memory of an array."""
        return self.cupy(self.spot(x))

    def cupy(self, spot: Spot) -> Any:
        memory = spot.buffer.memory
        if not spot.size:
            return self.driver.view(memory, 0, spot.shape, spot.dtype, None)
        return self.driver.view(memory, spot.address - memory.data.ptr, spot.shape, spot.dtype, spot.strides)

    # Values that wait

    def lazy(
        self, e: Expr, layout: np.ndarray, rows: tuple[int, ...] | None = None, is_scalar: bool = False
    ) -> DeviceArray:
        """An array of an expression that waits. `rows`: the shape whose rows it reduces."""
        from .array import DeviceArray

        x = DeviceArray(self, layout, None, None, e)
        x.scalar, x.rows = is_scalar, rows
        if e.holder is None:
            e.holder = x
        self.wait(x)
        return x

    def wait(self, x: DeviceArray) -> None:
        key = x.shape if x.rows is None else x.rows
        with self.lock:
            region = self.regions.get(key)
            if region is None:
                if len(self.regions) > 100:
                    self.regions = {k: r for k, r in self.regions.items() if r.alive()}
                region = self.regions[key] = Region()
            region.refs.append(x.ref())
            region.left -= 1
            if region.left <= 0 or x.expr.size > 2 * NODES:
                self.count(key, region)

    def count(self, key: tuple[int, ...], region: Region) -> None:
        """Compute a region that has become too large for one kernel."""
        waiting = [x for x in region.alive() if x.expr.kind in MADE]
        calls, spots = 0, set()
        for e in nodes(*[x.expr for x in waiting]):
            calls += e.kind in MADE
            if e.kind == "leaf":
                spots.add((e.leaf.address, e.leaf.strides))
        region.left = min((NODES - calls) // 2, LEAVES - len(spots), OUTPUTS - len(waiting))
        if region.left < 0:
            self.now(key)
        else:
            region.refs = [x.ref() for x in region.alive()]
            region.left = max(region.left, 1)

    def now(self, key: tuple[int, ...], owner: Any = None) -> None:
        """Compute what waits in a region, and `owner`. Other copies and fills stay: they cost nothing to make later."""
        region = self.regions.pop(key, None) or Region()
        every = region.alive()
        if owner is not None and not any(x is owner for x in every):
            every.append(owner)
        waiting = [x for x in every if x is owner or x.expr.kind in MADE]
        region.refs, region.left = [x.ref() for x in every], LEAVES
        if len(waiting) < len(every):
            region.refs = [x.ref() for x in every if not any(x is y for y in waiting)]
            self.regions[key] = region
        try:
            self.compute(waiting)
        except BaseException:  # memory is short, or Ctrl-C: they wait on
            self.regions.setdefault(key, region).refs = [x.ref() for x in every]
            raise

    def flush(self) -> None:
        """Compute everything that waits and is held."""
        with self.lock:
            for key in list(self.regions):
                self.compute(self.regions.pop(key).alive())

    def memory_of(self, x: DeviceArray) -> Buffer:
        """The buffer of an array, computed now if its value waits."""
        owner = x if x.base is None else x.base
        if owner._buffer is None:
            with self.lock:
                if owner.expr is not None:
                    self.now(owner.shape if owner.rows is None else owner.rows, owner)
        buffer: Buffer = owner._buffer  # type: ignore[assignment]
        return buffer

    def spot(self, x: DeviceArray) -> Spot:
        """The memory of an array."""
        buffer = self.memory_of(x)
        return Spot(buffer, x.layout, buffer.address if x.base is None else 0)

    def readable(self, x: DeviceArray) -> Spot:
        """Memory in which the value of `x` stands: of a copy that waits, or a view of one, that of what it copies."""
        owner = x if x.base is None else x.base
        e = owner.expr
        if e is not None and e.kind == "leaf" and (e.shape, e.dtype) == (owner.shape, owner.dtype):
            found: Spot = e.leaf
            if owner is x:
                return found
            if found.shape == owner.shape and found.strides == owner.strides:
                offset = offset_of(found.layout) + x.offset
                return Spot(found.buffer, laid_out(x.shape, x.dtype, x.strides, offset))
        return self.spot(x)

    def compute(self, waiting: list[DeviceArray]) -> None:
        """Give memory to arrays of one region, and put it in the place of their expressions."""
        plain: dict[tuple[int, ...], list[Any]] = {}
        rows: dict[tuple[int, ...], list[Any]] = {}
        targets = []
        for x in waiting:
            target = x.target(self.buffer(extent(x.layout)))
            targets.append(target)
            if x.size:
                inner = next((e.args[0].shape for e in nodes(x.expr) if e.kind == "row"), None)
                (plain if inner is None else rows).setdefault(inner or x.shape, []).append((x.expr, target))
        for shape in [s for s in plain if s in rows]:
            rows[shape] += plain.pop(shape)
        for shape, outputs in (*plain.items(), *rows.items()):
            for k in range(0, len(outputs), OUTPUTS + 4):
                part = outputs[k : k + OUTPUTS + 4]
                self.launch(self.texts.rows(part) if shape in rows else self.texts.elementwise(part))
        for x, target in zip(waiting, targets, strict=True):
            computed(x, target)

    def launch(self, launch: Launch, writes: Any = ()) -> None:
        """Run a kernel. `writes`: the arrays it writes into, which some that wait may still have to read."""
        arguments = [self.spot(x) if hasattr(x, "layout") and type(x) is not Spot else x for x in launch.arguments]
        with self.lock:
            for x in writes:
                target = self.spot(x)
                if target.buffer.read:
                    self.before_write(target)
        addresses = [x.address if type(x) is Spot else x for x in arguments]
        self.driver.launch(self.driver.function(launch.kernel), launch, addresses)

    # Writes

    def write(self, x: DeviceArray, e: Expr, rows: tuple[int, ...] | None = None) -> None:
        """Store an expression of the shape of `x`, and of its dtype, into its memory."""
        if not x.size:
            return
        if x.base is None and x._buffer is None:  # its value waits: another takes its place, and views will see it
            if e.shape == x.shape or e.kind == "scalar":
                x.expr, x.rows = e, rows
                self.wait(x)
                return
        with self.lock:
            target = self.spot(x)
            if e.kind == "leaf" and e.leaf.buffer is target.buffer and same(e.leaf.layout, target.layout):
                return  # `x[i] += v` stores what it has changed
            if any(e.kind == "leaf" and crosses(e.leaf, target) for e in nodes(e)):
                e = self.settled(e, rows)
            by_rows = any(e.kind == "row" for e in nodes(e))
            if by_rows and e.shape != target.shape:
                e, by_rows = self.settled(e, rows), False
            if target.buffer.read and not by_rows:
                self.write_beside(target, e)
                return
            if target.buffer.read:
                self.before_write(target)
                by_rows = any(e.kind == "row" for e in nodes(e))
            self.launch((self.texts.rows if by_rows else self.texts.elementwise)([(e, target)]))

    def write_beside(self, target: Spot, e: Expr) -> None:
        """A write by a kernel that also computes what waits and reads only the entries that are written, each before it
        is: `g = m[key]; m[key] = 0` is one kernel."""
        beside = [x for x in self.readers(target) if joins(x, target)][:OUTPUTS]
        self.before_write(target, beside)
        beside = [x for x in beside if x.expr is not None]
        outputs = [(x.expr, x.target(self.buffer(extent(x.layout)))) for x in beside]
        self.launch(self.texts.elementwise([*outputs, (e, target)]))
        for x, (_, place) in zip(beside, outputs, strict=True):
            computed(x, place)

    def fill(self, parts: list[tuple[Spot, Expr]]) -> None:
        """Store expressions into parts of memory that nothing has read yet, those of one shape by few kernels."""
        groups: dict[tuple[int, ...], list[Any]] = {}
        for spot, e in parts:
            if spot.size:
                groups.setdefault(spot.shape, []).append((e, spot))
        for outputs in groups.values():
            while outputs:
                n = 1
                while n < min(OUTPUTS, len(outputs)) and sum(e.size for e, _ in outputs[: n + 1]) <= NODES // 2:
                    n += 1
                with self.lock:
                    self.launch(self.texts.elementwise(outputs[:n]))
                outputs = outputs[n:]

    def settled(self, e: Expr, rows: tuple[int, ...] | None) -> Expr:
        """An expression as memory of its own."""
        t = self.owner(laid_out(e.shape, e.dtype), None, e)
        t.rows = rows
        self.compute([t])
        return leaf(self.spot(t))

    def readers(self, target: Spot) -> list[DeviceArray]:
        """What waits and reads entries that are about to change."""
        buffer, found, others = target.buffer, [], False
        for region in self.regions.values():
            for x in region.alive():
                reads = [e.leaf.layout for e in nodes(x.expr) if e.kind == "leaf" and e.leaf.buffer is buffer]
                if any(overlap(layout, target.layout) for layout in reads):
                    found.append(x)
                elif reads:
                    others = True
        buffer.read = others
        return found

    def before_write(self, target: Spot, later: Any = ()) -> None:
        """Compute what waits and reads entries that are about to change, but for those that are computed later."""
        for x in self.readers(target):
            if x.expr is not None and not any(x is y for y in later):
                self.memory_of(x)

    def reading(self, e: Expr) -> Expr:
        """A leaf, noted in its buffer."""
        e.leaf.buffer.read = True
        return e

    # The host

    def get(self, x: DeviceArray) -> np.ndarray:
        """The entries, on the host, in memory laid out as on the device."""
        if not x.size:
            return np.empty(x.shape, x.dtype)
        spot = self.readable(x)
        dense = packed(x.shape, x.dtype, [spot.layout])
        if dense.strides != spot.strides and x.size > 1:
            y = self.owner(dense, self.buffer(extent(dense)))
            self.launch(self.texts.elementwise([(leaf(spot), self.spot(y))]))
            spot = self.spot(y)
        order = sorted(range(x.ndim), key=lambda k: -spot.strides[k])
        flat = Spot(spot.buffer, spot.layout.transpose(order), spot.address)
        host: np.ndarray = self.driver.to_host(self.cupy(flat))
        return host.transpose(np.argsort(order)) if x.ndim > 1 else host

    def number(self, x: DeviceArray) -> Any:
        """The only entry as a NumPy scalar."""
        return self.get(x).reshape(())[()]


def computed(x: DeviceArray, target: Spot) -> None:
    """The value of an array stands in memory now, in which others that are made from it read it."""
    e = x.expr
    x._buffer, x.expr, x.rows = target.buffer, None, None
    if e.kind in MADE and e.shape == target.shape:
        e.kind, e.name, e.args, e.size, e.leaf = "leaf", "", (), 1, target
        target.buffer.read = True


def joins(x: DeviceArray, target: Spot) -> bool:
    """Whether what waits can be computed by the kernel that writes the entries it reads."""
    if x.rows is not None or x.shape != target.shape or x.expr.size > NODES // 2:
        return False
    return not any(e.kind == "row" or (e.kind == "leaf" and crosses(e.leaf, target)) for e in nodes(x.expr))
