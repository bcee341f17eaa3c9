"""Digests of graphs: of content, not of how it is shared, and found in cycles as well."""

from understudy.runs.describing.graph import Node, compute_digests, unknown_paths


def leaf(tag):
    return Node(tag)


def digest_of(node):
    compute_digests(node)
    return node.digest


def cycle(*tags):
    nodes = [Node(tag) for tag in tags]
    for node, following in zip(nodes, [*nodes[1:], nodes[0]], strict=True):
        node.parts.append(("next", following))
    return nodes[0]


def test_what_is_shared_is_as_what_is_repeated():
    one = leaf("a")
    assert digest_of(Node("list", parts=[("", one), ("", one)])) == digest_of(
        Node("list", parts=[("", leaf("a")), ("", leaf("a"))])
    )


def test_order_counts_in_lists_and_neither_among_labels_nor_in_sets():
    ab, ba = ([("", leaf(tag)) for tag in tags] for tags in ("ab", "ba"))
    assert digest_of(Node("list", parts=ab)) != digest_of(Node("list", parts=ba))
    assert digest_of(Node("set", parts=ab, ordered=False)) == digest_of(Node("set", parts=ba, ordered=False))
    labeled = [("x", leaf("a")), ("y", leaf("b"))]
    assert digest_of(Node("dict", parts=labeled)) == digest_of(Node("dict", parts=labeled[::-1]))


def test_labels_and_tags_do_not_run_together():
    assert digest_of(Node("a", parts=[("b c", leaf("d"))])) != digest_of(Node("a", parts=[("b", leaf("c d"))]))
    assert digest_of(Node("a b")) != digest_of(Node("a", parts=[("b", leaf(""))]))


def test_cycles_differ_by_what_is_in_them_and_by_their_size():
    told = [digest_of(cycle(*tags)) for tags in ("a", "b", "aa", "ab", "ba", "aab", "abb")]
    assert len(set(told)) == len(told)
    assert digest_of(cycle("a", "b")) == digest_of(cycle("a", "b"))


def test_what_is_unknown_is_found_by_its_path_unless_its_part_is_trusted():
    lock = Node("lock", unknown=True)
    holder = Node("holder", parts=[(".code", Node("code", parts=[("lock", lock)]))])
    root = Node("root", parts=[("learner", holder)])
    compute_digests(root)
    assert list(unknown_paths(root)) == ["learner.code.lock"]
    holder.trusted = frozenset({".code"})
    assert unknown_paths(root) == {}
