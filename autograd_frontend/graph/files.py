"""Graphs in files. There is no code in a file and nothing of pickle's: a header of JSON, and the bytes of arrays.

    8 bytes magic, 4 version, 8 length of the header, 32 SHA-256 of the header, the header, the arrays one after another

All numbers are little-endian. The header lists for every array its dtype, shape, length and SHA-256. A callable is
named by its path, and only those of the table of operations are looked up.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import GraphError, Place, RecordError
from . import encoding
from .nodes import Graph, Node
from .shapes import axes_of

ndarray = np.ndarray
MAGIC, VERSION = b"AFGRAPH\n", 1
FIXED = struct.Struct("<8sIQ32s")
HEADER, TOTAL, NODES = 1 << 26, 1 << 34, 1_000_000  # the largest header and file in bytes, the most nodes
ENTRIES = 1 << 34  # the largest value of a node
FIELDS = ("kind", "operation", "target", "args", "kwargs", "type", "shape", "dtype", "data", "payload", "place")


def save(graph: Graph, path: Any) -> None:
    """Write a graph to a file."""
    arrays: list[ndarray] = []
    header = json.dumps(of_graph(graph, arrays), separators=(",", ":"), allow_nan=False).encode()
    with open(path, "wb") as file:
        file.write(FIXED.pack(MAGIC, VERSION, len(header), hashlib.sha256(header).digest()))
        file.write(header)
        for x in arrays:
            file.write(content(x))


def content(x: ndarray) -> bytes:
    return x.astype(x.dtype.newbyteorder("<"), copy=False).transpose(axes_of(x)).tobytes()


def of_graph(graph: Graph, arrays: list[ndarray]) -> dict[str, Any]:
    first = len(arrays)
    nodes = [of_node(n, arrays) for n in graph.nodes]
    return {
        "name": graph.name, "args": encoding.encoded(graph.args), "kwargs": encoding.encoded(graph.kwargs),
        "result": encoding.encoded(graph.result), "signature": list(graph.signature),
        "parameters": [[k, v] for k, v in graph.parameters.items()], "nodes": nodes,
        "arrays": [of_array(x) for x in arrays[first:]],
    }  # fmt: skip


def of_array(x: ndarray) -> dict[str, Any]:
    data = content(x)
    order = "C" if x.flags.c_contiguous else "F" if x.flags.f_contiguous else axes_of(x)
    return {"dtype": str(x.dtype), "shape": list(x.shape), "order": order, "bytes": len(data),
            "sha256": hashlib.sha256(data).hexdigest()}  # fmt: skip


def of_node(n: Node, arrays: list[ndarray]) -> dict[str, Any]:
    if n.function is not None:
        raise GraphError(f"node {n.number} ({n.kind}): {n.operation} is the user's own, which a file cannot hold")
    payload: Any = None
    if isinstance(n.payload, Graph):
        payload = of_graph(n.payload, arrays)
    elif n.payload is not None:
        payload = len(arrays)
        arrays.append(n.payload)
    p = n.place
    place = [os.path.basename(p.filename), p.line, p.function, p.text, p.name] if p else None
    return {
        "kind": n.kind, "operation": n.operation, "target": n.target, "args": encoding.encoded(n.args),
        "kwargs": encoding.encoded(n.kwargs), "type": n.type, "shape": list(n.shape), "dtype": n.dtype, "data": n.data,
        "payload": payload, "place": place,
    }  # fmt: skip


# Reading


def load(path: Any) -> Graph:
    """Read a graph; what is wrong with the file is named."""
    try:
        graph = read(Path(path))
    except RecordError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise faulty(f"its header says something impossible ({type(error).__name__}: {error})") from None
    except MemoryError:
        raise faulty("it is too large for the memory") from None
    graph.check()
    return graph


def faulty(reason: str) -> GraphError:
    return GraphError(f"the file is no graph: {reason}", None, "Save the graph again.")


def read(path: Path) -> Graph:
    size = path.stat().st_size
    if size > TOTAL:
        raise faulty(f"it is oversized, {size} bytes, at most {TOTAL}")
    with open(path, "rb") as file:
        fixed = file.read(FIXED.size)
        if fixed[: len(MAGIC)] != MAGIC[: len(fixed)]:
            raise faulty("it does not begin as one")
        if len(fixed) < FIXED.size:
            raise faulty("it is truncated, within its first bytes")
        _, version, length, digest = FIXED.unpack(fixed)
        if version != VERSION:
            raise faulty(f"its version is {version}, expected {VERSION}")
        if length > HEADER:
            raise faulty(f"its header is oversized, {length} bytes, at most {HEADER}")
        header = file.read(length)
        if len(header) < length:
            raise faulty(f"it is truncated, {len(header)} of the {length} bytes of its header")
        if hashlib.sha256(header).digest() != digest:
            raise faulty("its header is damaged, its hash is another")
        found = json.loads(header, parse_constant=lambda x: x)
        data = arrays_of(file, entries(found), size - FIXED.size - length)
    return graph_of(found, iter(data))


def entries(found: Any) -> list[dict[str, Any]]:
    """The arrays of a graph and of those inside it, in the order in which they are written."""
    listed: list[dict[str, Any]] = list(found["arrays"])
    if len(found["nodes"]) > NODES:
        raise faulty(f"it is oversized, {len(found['nodes'])} nodes, at most {NODES}")
    return listed


def arrays_of(file: Any, listed: list[dict[str, Any]], rest: int) -> list[ndarray]:
    total = 0
    for i, e in enumerate(listed):
        kind = encoding.dtype_of(e["dtype"])
        shape = e["shape"]
        if not isinstance(shape, list) or not all(type(k) is int and k >= 0 for k in shape) or len(shape) > 64:
            raise faulty(f"array {i} has the shape {shape!r}")
        expected = kind.itemsize
        for k in shape:
            expected *= k
        if e["bytes"] != expected or type(e["bytes"]) is not int:
            raise faulty(f"array {i} has {e['bytes']!r} bytes, expected {expected}")
        total += expected
    if total > rest:
        raise faulty(f"it is truncated, {rest} of the {total} bytes of its arrays")
    if total < rest:
        raise faulty(f"it is oversized, {rest - total} bytes after its last array")
    return [array_of(file, i, e) for i, e in enumerate(listed)]


def array_of(file: Any, i: int, e: dict[str, Any]) -> ndarray:
    data = file.read(e["bytes"])
    if hashlib.sha256(data).hexdigest() != e["sha256"]:
        raise faulty(f"array {i} is damaged, its hash is another")
    shape = e["shape"]
    axes = {"C": list(range(len(shape))), "F": list(range(len(shape)))[::-1]}.get(str(e["order"]), e["order"])
    if type(axes) is not list or [type(k) for k in axes] != [int] * len(shape) or sorted(axes) != [*range(len(shape))]:
        raise faulty(f"array {i} has the order {e['order']!r:.50}")
    kind = encoding.dtype_of(e["dtype"])
    x = np.frombuffer(data, kind.newbyteorder("<")).astype(kind)
    x = x.reshape([shape[k] for k in axes]).transpose(np.argsort(axes).astype(int))
    x.flags.writeable = False
    return x


def graph_of(found: Any, data: Any) -> Graph:
    held = list(data)
    nodes = [node_of(i, e, held) for i, e in enumerate(found["nodes"])]
    args, kwargs = encoding.decoded(found["args"]), encoding.decoded(found["kwargs"])
    if type(args) is not tuple or type(kwargs) is not dict:
        raise faulty("its arguments are no tuple and dict")
    names = {int(k): text_of(v) for k, v in found["parameters"]}
    signature = [text_of(x) for x in found["signature"]]
    return Graph(nodes, args, kwargs, encoding.decoded(found["result"]), text_of(found["name"]), names, signature)


def text_of(x: Any) -> str:
    if type(x) is not str or len(x) > 10_000:
        raise faulty(f"a name in it is {x!r:.50}")
    return x


def node_of(i: int, e: Any, held: list[ndarray]) -> Node:
    kind, operation, target, args, kwargs, type_, shape, dtype, data, payload, place = [e[k] for k in FIELDS]
    size = 1
    for k in shape:
        size *= k
    if type(size) is not int or size > ENTRIES:
        raise faulty(f"node {i} is oversized, its shape is {shape!r}")
    value: Any = None
    if isinstance(payload, dict):
        value = graph_of(payload, held)
    elif payload is not None:
        if type(payload) is not int or not 0 <= payload < len(held):
            raise faulty(f"node {i} has the payload {payload!r}, which is no array of it")
        value = held[payload]
    where = Place(text_of(place[0]), int(place[1]), *[text_of(x) for x in place[2:5]]) if place is not None else None
    if type(data) is not bool:
        raise faulty(f"node {i} says data: {data!r}")
    return Node(
        i, text_of(kind), text_of(operation), text_of(target), encoding.decoded(args), encoding.decoded(kwargs),
        text_of(type_), tuple(shape), text_of(dtype), data, value, where,
    )  # fmt: skip
