"""The text of a CSV file as an Arrow table, without two different texts becoming one id, label or number."""

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import numpy as np

from understudy.errors import LogError
from understudy.logs.arrays import EXACT, short_repr
from understudy.logs.arrow_columns import TEXT_TYPES
from understudy.logs.findings import counted

WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*")
DIGITS = 76  # of Arrow's widest decimal
TRUTH_WORDS = ((b"true", b"false"), (b"True", b"False"), (b"TRUE", b"FALSE"))
PADDED = r"^\s*[+-]?0[0-9][0-9.]*\s*$"
BEFORE_NUMBERS = np.isin(np.arange(256), list(b",\n\r\"' \t+-"))  # bytes after which a number may begin
IS_DIGIT = np.isin(np.arange(256), list(b"0123456789"))
OBSERVATION = re.compile("(next_)?observation(_[0-9]+)*")
OTHER_WIDTH = re.compile(
    r"CSV parse error: Expected (?P<header>\d+) columns, got (?P<cells>\d+):[ ]?(?P<text>.*)", re.S
)
BLANK_LINE = re.compile(rb"(?m)^[ \t]+(\r?\n|\Z)")
INTEGRAL_FLOAT = r"^(0|-?[1-9][0-9]{0,14})\.0$"


def parse_csv(
    content: bytes,
    as_written: Iterable[str] = (),
    as_text: Iterable[str] = (),
    observed: Iterable[str] = (),
) -> Any:
    """Return the text of a CSV file as a table.

    An empty cell is null everywhere; NA, null and nan are null in columns of numbers. Types are guessed. The columns
    named in `as_written` hold ids or labels, where 7 and 007 are two: they become numbers or truth values only if no
    two texts can have one value, and stay text otherwise. Those in `as_text` always stay text; those in `observed`, and
    all that are named like observations, where a number has leading zeros.
    """
    import pyarrow as pa

    _refuse_other_formats(content)
    as_written = [name for name in as_written if _can_be_named(name)]
    texts = [name for name in as_text if _can_be_named(name)]
    types = {name: pa.large_binary() for name in (*as_written, *texts)}
    table = _with_long_numbers(_parse(content, types), content)
    table = _with_leading_zeros(table, content, observed)
    for at, name in enumerate(table.column_names):
        column = table.column(at)
        if name in as_written:
            column = _typed_without_loss(_text(column))
        elif str(column.type).startswith(TEXT_TYPES):
            column = _text(column)
        table = table.set_column(at, name, column)
    return table


def _can_be_named(name: str) -> bool:
    """True if UTF-8 can hold a name; Arrow takes no other."""
    return name == name.encode(errors="replace").decode()


def _with_leading_zeros(table: Any, content: bytes, observed: Iterable[str]) -> Any:
    """Return the table with those observed columns as text in which a number has leading zeros."""
    import pyarrow as pa
    import pyarrow.compute as pc

    observed, names = set(observed), table.column_names
    numbers = [
        name
        for name in names
        if (name in observed or OBSERVATION.fullmatch(name))
        and names.count(name) == 1
        and str(table.schema.field(name).type).startswith(("int64", "double", "decimal"))
    ]
    if not numbers or not _may_have_leading_zeros(content):
        return table
    written = _parse(content, dict.fromkeys(numbers, pa.large_binary()))
    for name in numbers:
        if pc.any(pc.match_substring_regex(written.column(name), PADDED)).as_py():
            table = table.set_column(names.index(name), name, written.column(name))
    return table


def _may_have_leading_zeros(content: bytes) -> bool:
    """True if a 0 follows on a comma, a quote, a space or a sign, and a digit on the 0."""
    codes = np.frombuffer(content, np.uint8)
    zeros = np.flatnonzero(codes[1:-1] == ord("0"))
    return bool((BEFORE_NUMBERS[codes[zeros]] & IS_DIGIT[codes[zeros + 2]]).any())


def _refuse_other_formats(content: bytes) -> None:
    """Raise `LogError` for other formats that spreadsheets save as .csv: UTF-16, semicolons, tabs, a `sep=` line."""
    header = content.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].split(b"\r", 1)[0]
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in header:
        raise LogError("the file is UTF-16, or not text; save it as UTF-8", "file")
    try:
        words = header.decode()
    except UnicodeDecodeError:
        raise LogError(
            "the header holds text that is not UTF-8 (is it Latin-1?); save the file as UTF-8", "file"
        ) from None
    if words.startswith("sep="):
        raise LogError(f"the first line is {words[:20]}, an instruction to a spreadsheet; delete that line", "file")
    for sign, name in ((";", "';'"), ("\t", "tabs")):
        if words.count(sign) > words.count(","):
            raise LogError(
                f"the file seems to separate columns by {name}; save it with commas between columns, and with points "
                "in decimals",
                "file",
            )


def _parse(content: bytes, types: dict[str, Any], missing_text: bool = False) -> Any:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    # One block, since types are guessed from the first block: after a million rewards of 0 there may be one of 0.5.
    options = arrow_csv.ReadOptions(block_size=min(len(content) + 1, 2**31 - 1))
    conversion = arrow_csv.ConvertOptions(strings_can_be_null=missing_text, column_types=types)
    try:
        return arrow_csv.read_csv(pa.BufferReader(content), options, convert_options=conversion)
    except pa.ArrowInvalid as error:
        found = OTHER_WIDTH.match(str(error))
        if found is None:
            raise
        if found["text"].strip():
            raise _other_width(content, found) from None
        without = BLANK_LINE.sub(b"", content)  # a line of spaces is an empty line
        if len(without) == len(content):
            raise
        return _parse(without, types, missing_text)


def _other_width(content: bytes, found: re.Match[str]) -> LogError:
    """Return the error for a line that has more or fewer cells than the header."""
    at = content.find(b"\n" + found["text"].encode()) + 1
    where = f"line {content[:at].count(10) + 1}" if at else "a line"
    return LogError(
        f"{where} has {counted(int(found['cells']), 'cell')}, and the header has {found['header']}: "
        f"{short_repr(found['text'])}; is a comma missing, or text with commas not in quotes?",
        "file",
    )


def _text(column: Any) -> Any:
    """Return a column of a CSV as text, with nulls for empty cells. UTF-8 is checked later, in used columns only."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = column.cast(pa.large_binary()).combine_chunks()
    array = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    text = pc.if_else(pc.equal(pc.binary_length(array), 0), None, array)
    return text.view(pa.large_string())


def _typed_without_loss(text: Any) -> Any:
    """Return a column of text as integers or truth values if different texts stay different; else as it is.

    So 7 and 007, 1.1 and 1.10, 16 and 0x10 stay text. Integers that are all written as floats (3.0) become floats.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        numbers = text.cast(pa.int64())
        return numbers if pc.all(pc.equal(numbers.cast(pa.large_string()), text)).as_py() else text
    except pa.ArrowInvalid:  # some are not int64
        pass
    content = text.view(pa.large_binary())  # which can be compared even where it is not UTF-8
    for true, false in TRUTH_WORDS:
        if pc.all(pc.is_in(content, pa.array([true, false], content.type), skip_nulls=True)).as_py():
            return pc.equal(content, true)
    if pc.all(pc.match_substring_regex(content, INTEGRAL_FLOAT)).as_py():
        return text.cast(pa.float64())
    return text


def _with_long_numbers(table: Any, content: bytes) -> Any:
    """Return the table with whole numbers beyond int64 exactly as they are written: Arrow rounds them to float64."""
    import pyarrow as pa

    rounded = [at for at, column in enumerate(table.columns) if pa.types.is_float64(column.type) and _is_long(column)]
    if rounded:
        written = _parse(content, {table.column_names[at]: pa.large_string() for at in rounded}, missing_text=True)
        for at in rounded:
            texts = written.column(at).to_pylist()
            whole = [text for text in texts if text is not None and WHOLE.fullmatch(text)]
            exact: Any = None
            if len(whole) + texts.count(None) == len(texts) and max(map(len, whole)) <= DIGITS:
                numbers = [None if text is None else Decimal(text.strip()) for text in texts]
                exact = pa.array(numbers, pa.decimal256(DIGITS, 0))
            elif any(Decimal(text.strip()) != Decimal(float(text)) for text in whole):
                exact = written.column(at)  # as text, since no type of number holds them all
            if exact is not None:
                table = table.set_column(at, table.column_names[at], exact)
    return table


def _is_long(column: Any) -> bool:
    import pyarrow.compute as pc

    largest = pc.max(pc.abs(column)).as_py()
    return largest is not None and largest >= EXACT
