"""Digests of object graphs: equal for equal content, linear in their size, whatever their depth and with cycles.

A digest of a thing is one of what it is and of the digests of its parts (a Merkle tree). Things that refer to each
other in a circle are digested together: numbered in the order in which they are reached, and named by their numbers.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

MOST = 1 << 30
"""A weight or height that is too large to matter how large it is."""


@dataclass(eq=False, slots=True)
class Node:
    """A thing: what it is, and its parts under their labels."""

    tag: str  # all that is known of it but its parts
    name: str = ""  # as people are told
    form: str = "opaque"  # how it is shown: "leaf", "list", "table", "object", or "opaque", by its name and digest
    shown: Any = None  # a leaf, as JSON has it
    parts: list[tuple[str, "Node"]] = field(default_factory=list)  # those of one label are in order
    ordered: bool = True  # False: a set, whose parts are not
    unknown: bool = False  # it cannot be told from others of its kind
    believed: frozenset[str] = frozenset()  # labels of parts in which nothing is missed that cannot be described
    digest: str = ""
    weight: int = 1  # itself and its parts, counted as often as they occur
    height: int = 0


def digest(content: bytes | memoryview) -> str:
    """A short hash."""
    return blake2b(content, digest_size=8).hexdigest()


def settle(root: Node) -> None:
    """Find the digests of a node and of all that it refers to (Tarjan's algorithm, without recursion)."""
    place: dict[int, int] = {}  # when a node was first reached
    lowest: dict[int, int] = {}
    waiting: list[Node] = []  # reached, and not yet known whether they are part of a circle
    path: list[tuple[Node, Iterator[tuple[str, Node]]]] = []

    def reach(node: Node) -> None:
        place[id(node)] = lowest[id(node)] = len(place)
        waiting.append(node)
        path.append((node, iter(node.parts)))

    if not root.digest:
        reach(root)
    while path:
        node, parts = path[-1]
        for _, part in parts:
            if part.digest:
                continue
            if id(part) not in place:
                reach(part)
                break
            lowest[id(node)] = min(lowest[id(node)], place[id(part)])
        else:
            path.pop()
            if path:
                parent = path[-1][0]
                lowest[id(parent)] = min(lowest[id(parent)], lowest[id(node)])
            if lowest[id(node)] == place[id(node)]:
                circle = [waiting.pop()]
                while circle[-1] is not node:
                    circle.append(waiting.pop())
                _settle_circle(node, {id(member) for member in circle})


def _settle_circle(first: Node, members: set[int]) -> None:
    """Digest nodes that all refer to each other, or a single node, in the order in which they are reached."""
    numbers: dict[int, int] = {}
    order: list[Node] = []
    ahead = [first]
    while ahead:
        node = ahead.pop()
        if id(node) in numbers:
            continue
        numbers[id(node)] = len(order)
        order.append(node)
        inner = [part for _, part in _in_order(node) if id(part) in members]
        # A set has no order of its own, and here the digests that would give one are not known yet.
        if inner and not node.ordered:
            node.name, node.unknown = f"a {node.name} that its own items refer back to", True
        ahead += reversed(inner)
    alone = len(order) == 1 and not any(part is first for _, part in first.parts)
    lines = [_line(node, {} if alone else numbers) for node in order]
    whole = digest("\n".join(lines).encode("utf-8", "surrogatepass"))
    for number, node in enumerate(order):
        node.digest = whole if alone else digest(f"{whole} {number}".encode())
        node.weight = min(MOST, 1 + sum(part.weight for _, part in node.parts)) if alone else MOST
        node.height = min(MOST, 1 + max((part.height for _, part in node.parts), default=0)) if alone else MOST


def _line(node: Node, numbers: dict[int, int]) -> str:
    told = [f"{label!r} {numbers.get(id(part), part.digest)}" for label, part in _in_order(node)]
    return f"{node.tag!r} {node.ordered} {' '.join(told if node.ordered else sorted(told))}"


def _in_order(node: Node) -> list[tuple[str, Node]]:
    return sorted(node.parts, key=lambda part: part[0])


def unknown_paths(root: Node) -> dict[str, Node]:
    """What cannot be described, by a path that leads to it; not what an object's own word is believed about."""
    found: list[int] = []
    reached: list[tuple[Node, int, str]] = [(root, -1, "")]  # a node, the place of the one it was reached from, how
    seen = {id(root)}
    for place, (node, _, _) in enumerate(reached):
        if node.unknown:
            found.append(place)
        for label, part in node.parts:
            if id(part) not in seen and label not in node.believed:
                seen.add(id(part))
                reached.append((part, place, label))
    return {_path(reached, place): reached[place][0] for place in found}


def _path(reached: list[tuple[Node, int, str]], place: int) -> str:
    labels: list[str] = []
    while place > 0:
        _, place, label = reached[place]
        labels += [label.strip(".")] if label else []
    labels = [*labels[:4], "...", *labels[-4:]] if len(labels) > 9 else labels
    return ".".join(reversed(labels))
