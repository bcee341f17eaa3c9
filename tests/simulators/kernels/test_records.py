import numpy as np
import pytest

from understudy.simulators.kernels.records import (
    RECORD,
    RecordColumns,
    code_of,
    fields_of,
    fields_of_columns,
    fields_of_record,
    put_columns,
    put_record,
)

NONE = np.empty(0, np.int32)
RECORDS = np.array([(0.5, 0, 7, 70, 2, 1, 0), (1.5, 1, 8, 80, 3, 0, 1)], RECORD)


def columns(next_code=RECORDS["next_code"], vector=RECORDS["vector"]):
    given = RecordColumns(
        RECORDS["reward"], RECORDS["next_state"], next_code, vector, RECORDS["action"], RECORDS["terminated"] != 0
    )
    return RecordColumns(*map(np.ascontiguousarray, given))


@pytest.mark.parametrize("row", [0, 1])
def test_columns_and_records_are_two_forms_of_the_same(row):
    queued = np.zeros((2, 3), RECORD)
    put_record(RECORDS, row, queued[0], 2)
    put_record(columns(), row, queued[1], 2)
    assert queued[0, 2] == queued[1, 2] == RECORDS[row]
    assert fields_of(RECORDS, row) == fields_of(columns(), row) == fields_of_record(RECORDS, row)
    assert fields_of_columns(columns(), row) == (RECORDS["reward"][row], 7 + row, 70 + 10 * row, bool(row))


def test_without_codes_a_row_is_its_code_and_without_vectors_all_rows_have_the_first():
    queued = np.zeros(1, RECORD)
    put_columns(columns(NONE, NONE), 1, queued, 0)
    assert queued["next_code"][0] == 1
    assert queued["vector"][0] == 0
    assert code_of(columns(NONE), 1) == 1
    assert code_of(columns(), 1) == 80
