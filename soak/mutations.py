"""Damage to bytes, to text and to JSON values, drawn from a generator."""

import copy
import json
import re
from typing import Any

import numpy as np

HUGE = [2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
"""Lengths and counts that no file of a few kilobytes has."""

ODD_WORDS = [
    "", " ", "nan", "NaN", "-nan", "inf", "-inf", "Infinity", "1e999", "-1e999", "1e-400", "1e308", "0.1", "-1", "-0",
    "007", "1_000", "0x10", "+5", "1,5", "١٢", "½", "null", "None", "true", "TRUE", "yes", "2", "255", "65536",
    "2147483648", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "18446744073709551616",
    "9" * 400, "2024-05-01", "2024-13-45", "0000-00-00T99:99:99Z", "9999-12-31T23:59:59.999999999Z",
    "../../../etc/passwd",
    "/etc/passwd", "file:///etc/passwd", "=cmd|' /C calc'!A0", "__import__('os').system('touch CANARY')", "{{7*7}}",
    "${HOME}", "%s%n", "<script>alert(1)</script>", "\x1b[31mred", "\u202eabc", "\ufeff", "\ud7ff", "e\u0301", "🤖",
    "a" * 70_000, "[" * 5_000, '"', "'", "\\", "\0", "\r", "|", ":", ":::", "1:2:3:4", "shared", "'tag", "=", "id=",
]  # fmt: skip
"""Words that stand where a number or a label should."""

ODD_VALUES: list[Any] = [
    None, True, False, 0, -1, 1.5, 1e308, float("nan"), float("inf"), -(2**63) - 1, 2**63, 2**200, "", "text", [], {},
    [[]], [None], {"": None}, {"a": {"b": []}}, [1, "2", None], "../../x", "\ud800", "nan", "9" * 400, *ODD_WORDS[-20:],
]  # fmt: skip
"""JSON values that stand where another should."""


def damaged_bytes(content: bytes, rng: np.random.Generator) -> tuple[bytes, str]:
    """Return content with one to three damages, and their names."""
    names = []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        name = str(rng.choice(list(BYTE_DAMAGES)))
        content = BYTE_DAMAGES[name](content, rng)
        names.append(name)
    return content, ", ".join(names)


def damaged_text(content: bytes, rng: np.random.Generator) -> tuple[bytes, str]:
    """Return text with one to three damages, of words, fields and lines for the most part, and their names."""
    names = []
    for _ in range(rng.choice([1, 1, 2, 3])):
        damages = TEXT_DAMAGES if rng.random() < 0.8 else BYTE_DAMAGES
        name = str(rng.choice(list(damages)))
        content = damages[name](content, rng)
        names.append(name)
    return content, ", ".join(names)


def damaged_json(value: Any, rng: np.random.Generator, times: int = 0) -> tuple[Any, str]:
    """Return a JSON value with one or two of its parts replaced, removed, renamed, doubled, swapped or nested."""
    value, names = copy.deepcopy(value), []
    for _ in range(times or rng.choice([1, 1, 2])):
        places = list(_places(value))
        if not places:
            break
        holder, key = places[rng.integers(len(places))]
        name = str(
            rng.choice(["replaced", "replaced", "replaced", "removed", "renamed", "doubled", "swapped", "nested"])
        )
        other, its_key = places[rng.integers(len(places))]
        if name == "replaced":
            holder[key] = copy.deepcopy(ODD_VALUES[rng.integers(len(ODD_VALUES))])
        elif name == "removed":
            del holder[key]
        elif name == "renamed" and isinstance(holder, dict):
            holder[str(ODD_WORDS[rng.integers(len(ODD_WORDS))])] = holder.pop(key)
        elif name == "doubled":
            holder[key] = [holder[key], copy.deepcopy(holder[key])]
        elif name == "swapped":
            taken = copy.deepcopy(other[its_key])
            other[its_key] = copy.deepcopy(holder[key])
            holder[key] = taken
        else:
            inner = holder[key]
            for _ in range(int(rng.choice([20, 70, 300]))):
                inner = [inner] if rng.random() < 0.5 else {"a": inner}
            holder[key] = inner
        names.append(f"{name} {str(key)[:40]}")
    return value, ", ".join(names)


def json_text(value: Any) -> bytes:
    """Return a JSON text; parts that cannot be written, such as half of a surrogate pair, are escaped."""
    return json.dumps(value).encode("utf-8", "surrogatepass")


def _places(value: Any) -> Any:
    """Yield each place in lists and tables, as its holder and its key."""
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        for key in keys:
            yield holder, key
            waiting.append(holder[key])


def _span(content: bytes, rng: np.random.Generator, most: int = 64) -> tuple[int, int]:
    begin = int(rng.integers(len(content) + 1))
    return begin, min(len(content), begin + int(rng.integers(1, most + 1)))


def _flip(content: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 8]) if changed else 0):
        changed[rng.integers(len(changed))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _fill(content: bytes, rng: np.random.Generator) -> bytes:
    begin, end = _span(content, rng)
    return content[:begin] + bytes([int(rng.choice([0, 0xFF, 0x80, 0x7F]))]) * (end - begin) + content[end:]


def _truncate(content: bytes, rng: np.random.Generator) -> bytes:
    return content[: rng.integers(len(content) + 1)]


def _cut(content: bytes, rng: np.random.Generator) -> bytes:
    begin, end = _span(content, rng, 512)
    return content[:begin] + content[end:]


def _insert(content: bytes, rng: np.random.Generator) -> bytes:
    begin, _ = _span(content, rng)
    return content[:begin] + rng.bytes(int(rng.integers(1, 64))) + content[begin:]


def _double(content: bytes, rng: np.random.Generator) -> bytes:
    begin, end = _span(content, rng, 1024)
    return content[:end] + content[begin:end] * int(rng.choice([1, 2, 50])) + content[end:]


def _exchange(content: bytes, rng: np.random.Generator) -> bytes:
    (a, b), (c, d) = sorted((_span(content, rng), _span(content, rng)))
    return content if b > c else content[:a] + content[c:d] + content[b:c] + content[a:b] + content[d:]


def _enlarge(content: bytes, rng: np.random.Generator) -> bytes:
    """Overwrite a few bytes with a huge number, as counts and lengths are stored: fixed, or in sevens (Thrift)."""
    number, begin = HUGE[rng.integers(len(HUGE))], int(rng.integers(len(content) + 1))
    if rng.random() < 0.3:
        sevens, octets = number, bytearray()
        while sevens >= 128:
            octets.append(sevens & 127 | 128)
            sevens >>= 7
        field = bytes(octets) + bytes([sevens])
    else:
        size, order = int(rng.choice([2, 4, 8])), str(rng.choice(["little", "big"]))
        field = (number % 256**size).to_bytes(size, order)  # type: ignore[arg-type]
    return content[:begin] + field + content[begin + len(field) :]


BYTE_DAMAGES = {
    "bits flipped": _flip, "bytes filled": _fill, "cut off": _truncate, "a part cut out": _cut,
    "bytes inserted": _insert, "a part doubled": _double, "parts exchanged": _exchange, "a number enlarged": _enlarge,
}  # fmt: skip

WORD = re.compile(rb"[\w.+-]+")


def _replace_word(content: bytes, rng: np.random.Generator) -> bytes:
    words = list(WORD.finditer(content))
    if not words:
        return content
    word = words[rng.integers(len(words))]
    odd = ODD_WORDS[rng.integers(len(ODD_WORDS))].encode("utf-8", "surrogatepass")
    return content[: word.start()] + odd + content[word.end() :]


def _swap_words(content: bytes, rng: np.random.Generator) -> bytes:
    words = list(WORD.finditer(content))
    if len(words) < 2:
        return content
    first, second = sorted(rng.choice(len(words), 2, replace=False))
    (a, b), (c, d) = words[first].span(), words[second].span()
    return content[:a] + content[c:d] + content[b:c] + content[a:b] + content[d:]


def _change_lines(content: bytes, rng: np.random.Generator) -> bytes:
    lines = content.split(b"\n")
    at, to = (int(rng.integers(len(lines))) for _ in range(2))
    how = rng.integers(4)
    if how == 0:
        lines[at], lines[to] = lines[to], lines[at]
    elif how == 1:
        del lines[at]
    elif how == 2:
        lines.insert(to, lines[at])
    else:
        lines.insert(at, b"")
    return b"\n".join(lines)


def _separate_otherwise(content: bytes, rng: np.random.Generator) -> bytes:
    pairs = [(b",", b";"), (b",", b"\t"), (b"\n", b"\r\n"), (b"\n", b"\r"), (b'"', b"'"), (b" ", b""), (b":", b" : ")]
    before, after = pairs[rng.integers(len(pairs))]
    return content.replace(before, after, int(rng.choice([-1, 1, 3])))


def _encode_otherwise(content: bytes, rng: np.random.Generator) -> bytes:
    text = content.decode("utf-8", "replace")
    return text.encode(str(rng.choice(["utf-16", "utf-16-le", "utf-32", "utf-8-sig", "utf-7"])), "replace")


def _repeat(content: bytes, rng: np.random.Generator) -> bytes:
    return content * int(rng.choice([2, 3, 40]))


TEXT_DAMAGES = {
    "a word replaced": _replace_word, "a word replaced again": _replace_word, "words swapped": _swap_words,
    "lines changed": _change_lines, "separated otherwise": _separate_otherwise, "encoded otherwise": _encode_otherwise,
    "repeated": _repeat,
}  # fmt: skip
