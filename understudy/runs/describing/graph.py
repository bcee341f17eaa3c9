"""Digests of object graphs: equal for equal content, in time linear in their size, at any depth and with cycles.

The digest of an object is a hash of what it is and of the digests of its parts (a Merkle tree). Objects that refer to
each other in a cycle are digested together: each is named by its number, in the order in which they are reached.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

LARGEST = 1 << 30
"""Weights and heights are not counted beyond this."""


@dataclass(eq=False, slots=True)
class Node:
    """An object: what it is, and its parts with their labels."""

    tag: str  # all that is known of it, its parts apart; a part of its digest
    name: str = ""  # for people
    display: str = "opaque"  # how it is shown: "value", "list", "table", "object", or "opaque", by name and digest
    plain: Any = None  # where it is shown as a value: that value, as JSON can hold it
    parts: list[tuple[str, "Node"]] = field(default_factory=list)  # where labels repeat, their order counts
    ordered: bool = True  # False for a set: the order of its parts does not count
    unknown: bool = False  # True if it cannot be described
    trusted: frozenset[str] = frozenset()  # labels of parts in which unknown nodes are not reported
    digest: str = ""
    weight: int = 1  # the number of nodes below and including this one, counted as often as they occur
    height: int = 0


def digest(content: bytes | memoryview) -> str:
    """Return a short hash of some bytes."""
    return blake2b(content, digest_size=8).hexdigest()


def compute_digests(root: Node) -> None:
    """Set the digests of a node and of all that it refers to (Tarjan's algorithm, without recursion)."""
    order: dict[int, int] = {}  # by id of a node: how many were reached before it
    lowest: dict[int, int] = {}
    waiting: list[Node] = []  # reached, and perhaps part of a cycle that is not complete yet
    path: list[tuple[Node, Iterator[tuple[str, Node]]]] = []

    def reach(node: Node) -> None:
        order[id(node)] = lowest[id(node)] = len(order)
        waiting.append(node)
        path.append((node, iter(node.parts)))

    if not root.digest:
        reach(root)
    while path:
        node, parts = path[-1]
        for _, part in parts:
            if part.digest:
                continue
            if id(part) not in order:
                reach(part)
                break
            lowest[id(node)] = min(lowest[id(node)], order[id(part)])
        else:
            path.pop()
            if path:
                parent = path[-1][0]
                lowest[id(parent)] = min(lowest[id(parent)], lowest[id(node)])
            if lowest[id(node)] == order[id(node)]:
                cycle = [waiting.pop()]
                while cycle[-1] is not node:
                    cycle.append(waiting.pop())
                _digest_cycle(node, {id(member) for member in cycle})


def _digest_cycle(first: Node, members: set[int]) -> None:
    """Set the digests of nodes that refer to each other, or of a single one, in the order in which they are reached."""
    numbers: dict[int, int] = {}
    order: list[Node] = []
    remaining = [first]
    while remaining:
        node = remaining.pop()
        if id(node) in numbers:
            continue
        numbers[id(node)] = len(order)
        order.append(node)
        inner = [part for _, part in _in_order(node) if id(part) in members]
        # A set has no order of its own, and here the digests that would give one are not known yet.
        if inner and not node.ordered:
            node.name, node.unknown = f"a {node.name} that its own items refer back to", True
        remaining += reversed(inner)
    alone = len(order) == 1 and not any(part is first for _, part in first.parts)
    lines = [_line(node, {} if alone else numbers) for node in order]
    whole = digest("\n".join(lines).encode("utf-8", "surrogatepass"))
    for number, node in enumerate(order):
        node.digest = whole if alone else digest(f"{whole} {number}".encode())
        node.weight = min(LARGEST, 1 + sum(part.weight for _, part in node.parts)) if alone else LARGEST
        node.height = min(LARGEST, 1 + max((part.height for _, part in node.parts), default=0)) if alone else LARGEST


def _line(node: Node, numbers: dict[int, int]) -> str:
    parts = [f"{label!r} {numbers.get(id(part), part.digest)}" for label, part in _in_order(node)]
    return f"{node.tag!r} {node.ordered} {' '.join(parts if node.ordered else sorted(parts))}"


def _in_order(node: Node) -> list[tuple[str, Node]]:
    return sorted(node.parts, key=lambda part: part[0])


def unknown_paths(root: Node) -> dict[str, Node]:
    """Return the unknown nodes by a path of labels that leads to each; those in trusted parts are left out."""
    found: list[int] = []
    reached: list[tuple[Node, int, str]] = [
        (root, -1, "")
    ]  # a node, the position in this list of the one it was reached from, the label
    seen = {id(root)}
    for position, (node, _, _) in enumerate(reached):
        if node.unknown:
            found.append(position)
        for label, part in node.parts:
            if id(part) not in seen and label not in node.trusted:
                seen.add(id(part))
                reached.append((part, position, label))
    return {_path(reached, position): reached[position][0] for position in found}


def _path(reached: list[tuple[Node, int, str]], position: int) -> str:
    labels: list[str] = []
    while position > 0:
        _, position, label = reached[position]
        labels += [label.strip(".")] if label else []
    labels = [*labels[:4], "...", *labels[-4:]] if len(labels) > 9 else labels
    return ".".join(reversed(labels))
