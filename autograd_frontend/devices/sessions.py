"""A session: the memory of a device, and the values that wait to be computed there.

A call on arrays makes an expression, nothing more. Values of one shape wait in a *region*; when memory of one of them
is needed, all that somebody still holds are computed by one kernel. What nobody holds is never stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from .expressions import Expr, Launch, leaf, leaves, nodes, scalar
from .layouts import extent, laid_out, offset_of, packed, same
from .regions import Regions
from .spots import NODES, OUTPUTS, Buffer, Spot, Texts, axes_of, crosses, dtype_of, on_device

if TYPE_CHECKING:
    from .array import DeviceArray

SMALL = 12  # nodes up to which a value is computed again for every entry that it is broadcast to


class Session(Regions):
    """A device with its arrays. `live`: bytes of all its buffers."""

    def __init__(self, driver: Any, texts: Any = None) -> None:
        from .array import DeviceArray  # which imports this module

        super().__init__()
        self.kind = DeviceArray
        self.driver, self.name, self.xp = driver, driver.name, driver.xp
        self.texts = texts or Texts()
        self.live = 0
        self.lenders: Any = WeakValueDictionary()  # address of memory of CuPy's -> what it is here
        self.has: dict[Any, bool] = {}  # (function, dtype, dtype of the result) -> whether there is a text
        self.loops: dict[Any, Any] = {}  # (ufunc, dtypes, types of numbers) -> name, dtypes inside, what makes it

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

        return counterpart(call, self)

    def listed(self, call: Any, args: list[Any]) -> list[Any]:
        """The arguments of a call that NumPy would not hand over, of lists of arrays."""
        from .making import listed

        return listed(call, args)

    def cotangent(self, x: DeviceArray, given: Any, where: str, what: str = "cotangent") -> Any:
        from .making import cotangent

        return cotangent(self, x, given, where, what)

    def strong_zero(self, d: Any, g: Any) -> Any:
        """`d` with exact zeros in place of each NaN where the cotangent `g` is zero."""
        from .ufuncs import strong_zero

        return strong_zero(d, g)

    def live_bytes(self) -> int:
        return self.live

    # Memory

    def buffer(self, nbytes: int) -> Buffer:
        return Buffer(self, self.driver.empty(nbytes), nbytes)

    def owner(self, layout: np.ndarray, buffer: Buffer | None = None, e: Expr | None = None) -> DeviceArray:
        return self.kind(self, layout, None, buffer, e)

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
        x = x.astype(x.dtype.newbyteorder("="), copy=False)
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
        layout = laid_out(memory.shape, dtype_of(memory.dtype), memory.strides)
        return self.owner(layout, Buffer(self, memory, extent(layout)))

    def adopt(self, memory: Any) -> DeviceArray:
        """The array behind a `cupy.ndarray`, or behind any object of the device that CuPy takes without a copy."""
        if type(memory).__module__.partition(".")[0] != "cupy":
            memory = self.driver.foreign(memory)
        layout = laid_out(memory.shape, dtype_of(memory.dtype), memory.strides, memory.data.ptr - memory.data.mem.ptr)
        owner = self.lender(memory, layout)
        same_entries = owner.dtype == layout.dtype and owner.shape == layout.shape and owner.strides == layout.strides
        return owner if same_entries and not offset_of(layout) else owner.view_of(layout)

    def lender(self, memory: Any, layout: np.ndarray) -> DeviceArray:
        """The array that owns the memory of a `cupy.ndarray`: of all that look at it the same one, so that a write
        through one is seen by what waits to read another."""
        block, start = memory.data.mem, offset_of(layout)
        buffer: Buffer | None = self.lenders.get(block.ptr)
        if buffer is None or buffer.nbytes < min(block.size, start + extent(layout)):
            if not start and (memory.flags.forc or not layout.size):
                whole = layout
            else:
                memory = self.driver.view(memory, -start, (block.size,), np.uint8, None)
                whole = laid_out((block.size,), np.uint8)
            buffer = Buffer(self, memory, extent(whole))
            buffer.lent = whole, lambda: None
            if layout.size:
                self.lenders[block.ptr] = buffer
        whole, found = buffer.lent
        owner: DeviceArray | None = found()
        if owner is None:
            owner = self.owner(whole, buffer)
            buffer.lent = whole, owner.ref()
        return owner

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
        x = self.kind(self, layout, None, None, e)
        x.scalar, x.rows = is_scalar, rows
        self.wait(x)
        return x

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
        targets = [x.target(self.buffer(extent(x.layout))) for x in waiting]
        plain: dict[tuple[int, ...], list[Any]] = {}
        rows: dict[tuple[int, ...], list[Any]] = {}
        for x, target in zip(waiting, targets, strict=True):
            if x.size:
                inner = reduced_in(x.expr)
                (plain if inner is None else rows).setdefault(inner or x.shape, []).append((x.expr, target))
        for shape in [s for s in plain if s in rows]:
            rows[shape] += plain.pop(shape)
        for texts, groups in ((self.texts.elementwise, plain), (self.texts.rows, rows)):
            for outputs in groups.values():
                for k in range(0, len(outputs), OUTPUTS + 4):
                    self.launch(texts(outputs[k : k + OUTPUTS + 4]))
        for x, target in zip(waiting, targets, strict=True):
            computed(x, target)

    def launch(self, launch: Launch, writes: Any = ()) -> None:
        """Run a kernel. `writes`: the arrays it writes into, which some that wait may still have to read."""
        for x in writes:
            with self.lock:
                target = self.spot(x)
                if target.buffer.read:
                    self.before_write(target)
        arguments = []
        for x in launch.arguments:
            if type(x) is Spot:
                x = x.address
            elif type(x) is self.kind:
                x = self.spot(x).address
            arguments.append(x)
        self.driver.launch(self.driver.function(launch.kernel), launch, arguments)

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
            if any(crosses(n.leaf, target) for n in leaves(e)):
                e = self.settled(e, rows)
            by_rows = reduced_in(e) is not None
            if by_rows and e.shape != target.shape:
                e, by_rows = self.settled(e, rows), False
            if target.buffer.read and not by_rows:
                self.write_beside(target, e)
                return
            if target.buffer.read:
                self.before_write(target)
                by_rows = reduced_in(e) is not None
            self.launch((self.texts.rows if by_rows else self.texts.elementwise)([(e, target)]))

    def write_beside(self, target: Spot, e: Expr) -> None:
        """A write by a kernel that also computes what waits and reads only the entries that are written, each before it
        is: `g = m[key]; m[key] = 0` is one kernel."""
        readers = self.readers(target)
        beside = [x for x in readers if joins(x, target)][:OUTPUTS]
        for x in readers:
            if x.expr is not None and not any(x is y for y in beside):
                self.memory_of(x)
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


def reduced_in(e: Expr) -> tuple[int, ...] | None:
    """The shape of which an expression reduces rows; None where it reduces none."""
    if e.inner is None:
        return None
    return next((n.args[0].shape for n in nodes(e) if n.kind == "row"), None)  # they may have been computed since


def computed(x: DeviceArray, target: Spot) -> None:
    """The value of an array stands in memory now, in which others that are made from it read it."""
    e = x.expr
    x._buffer, x.expr, x.rows = target.buffer, None, None
    if e.args and e.shape == target.shape:
        e.kind, e.name, e.args, e.size, e.leaf, e.inner = "leaf", "", (), 1, target, None
        target.buffer.readers = [region for region in e.regions if not region.over]
        for region in target.buffer.readers:
            region.spots.add((target.address, target.strides))


def joins(x: DeviceArray, target: Spot) -> bool:
    """Whether what waits can be computed by the kernel that writes the entries it reads."""
    if x.rows is not None or x.shape != target.shape or x.expr.size > NODES // 2:
        return False
    return reduced_in(x.expr) is None and not any(crosses(e.leaf, target) for e in leaves(x.expr))
