"""Tables as HTML, in which nothing that users wrote is obeyed, and as Arrow, whose types are given."""

from html.parser import HTMLParser

import pyarrow as pa
import pytest

from understudy.tables import NONE, Column, Table, arrow_table, record_table, rounded

HOSTILE = "<script>alert(1)</script> \"'&"


class Cells(HTMLParser):
    """Collects tags, and the text of each cell."""

    def __init__(self):
        super().__init__()
        self.tags, self.cells = [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag in ("td", "th", "p"):
            self.cells.append("")

    def handle_data(self, data):
        if self.cells:
            self.cells[-1] += data.strip("\n")


def parsed(html):
    parser = Cells()
    parser.feed(html)
    parser.close()
    return parser


def test_every_cell_heading_and_note_is_there():
    table = Table("t", (Column("name", numeric=False), Column("n")), (("a", "1"), ("b", "2")), notes=("a note",))
    assert parsed(table.to_html()).cells == ["name", "n", "a", "1", "b", "2", "a note"]
    assert parsed(table._repr_html_()).cells[0] == "t"


def test_text_is_escaped_wherever_it_stands():
    columns = (
        Column(HOSTILE, numeric=False, is_severity=True),
        Column(HOSTILE, group=HOSTILE),
        Column("", numeric=False),
    )
    table = Table(HOSTILE, columns, ((HOSTILE, HOSTILE, "\ud800"),), notes=(HOSTILE,))
    found = parsed(table._repr_html_())
    assert {tag for tag, _ in found.tags} <= {"p", "div", "table", "thead", "tbody", "tr", "th", "td", "span"}
    assert not any(name.startswith("on") for _, attributes in found.tags for name in attributes)
    assert found.cells.count(HOSTILE) == 7
    assert table.to_html().encode("utf-8")  # a lone surrogate is replaced


def test_groups_span_their_columns_and_the_headline_is_stressed():
    columns = (Column("", numeric=False), Column("a", group="g"), Column("b", group="g"), Column("c"))
    table = Table("", columns, (("x", "1", "2", "3"),))
    assert table.groups == [("", 1), ("g", 2), ("", 1)]
    found = parsed(table.to_html(headline=1)).tags
    assert [attributes.get("colspan") for tag, attributes in found if "colspan" in attributes] == ["1", "2", "1"]
    assert [attributes["class"] for tag, attributes in found if tag == "td"] == [
        "number first-of-group headline", "number", "number",
    ]  # fmt: skip
    assert Table("", columns[:1], ()).groups == []


def test_without_names_of_columns_there_is_no_head():
    assert "<thead>" not in Table("", (Column("", numeric=False), Column("")), (("a", "1"),)).to_html()


def test_a_row_has_a_cell_for_each_column():
    with pytest.raises(ValueError, match="zip"):
        Table("", (Column("a"), Column("b")), (("1",),)).to_html()


def test_a_record_has_a_line_for_each_field():
    record = {"n_runs": 1200, "share": 0.123456, "interval": (0.5, 1.0), "stops": {"a": 2}, "note": "", "left": None}
    assert record_table("t", record).rows == (
        ("n runs", "1,200"), ("share", "0.1235"), ("interval", f"0.5 {NONE} 1"), ("stops", "a: 2"), ("note", NONE),
        ("left", NONE),
    )  # fmt: skip


def test_types_of_columns_are_as_given_where_all_values_are_missing():
    types = {"a": "float64", "b": "string", "c": "bool"}
    one = arrow_table({"a": [None], "b": [None], "c": [None]}, types)
    other = arrow_table({"a": [1.5], "b": ["x"], "c": [True]}, types)
    assert one.schema.types == [pa.float64(), pa.string(), pa.bool_()]
    assert pa.concat_tables([one, other]).to_pylist()[1] == {"a": 1.5, "b": "x", "c": True}


@pytest.mark.parametrize(
    ("value", "found"), [(None, NONE), (float("nan"), NONE), (float("inf"), NONE), (-1234.56, "-1,234.6")]
)
def test_what_is_not_a_number_is_a_dash(value, found):
    assert rounded(value, 1) == found
