import pandas as pd
import pytest

from understudy.errors import LogError
from understudy.logs import read

DAYS = ["2024-01-05", "2024-02-06", "2024-05-01"]


def log_of(periods):
    frame = pd.DataFrame({"when": periods, "action": [0, 1, 0], "reward": [0.0, 1.0, 0.0]})
    return read(frame, observation="when", ends="every-row")


@pytest.mark.parametrize("frequency", ["D", "M", "Q", "Y", "h", "min", "s"])
def test_periods_are_the_dates_that_they_begin_with(frequency):
    periods = pd.PeriodIndex(DAYS, freq=frequency)
    log = log_of(periods)
    assert log.spec.coding.columns[0].kind == "date"
    found = log.spec.decode(log.observation)["when"].to_pylist()
    assert [pd.Timestamp(one) for one in found] == list(periods.to_timestamp())


def test_other_frequencies_and_missing_periods_are_refused():
    with pytest.raises(LogError, match=r"observation column when holds periods of W-SUN, .* \(in pandas, \.dt\.start"):
        log_of(pd.PeriodIndex(DAYS, freq="W"))
    with pytest.raises(LogError, match="has no value in row 1"):
        log_of(pd.PeriodIndex(["2024-01-05", None, "2024-05-01"], freq="D"))
