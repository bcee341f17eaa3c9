import pytest

from benchmarks.page import write


@pytest.mark.slow
@pytest.mark.parametrize(("n_probes", "readings"), [(1, 200), (2, 200), (1, 2000)])
def test_ten_sets_of_a_hundred_runs_are_a_page_of_less_than_three_megabytes(tmp_path, n_probes, readings):
    assert write(tmp_path / "report.html", n_probes, readings).stat().st_size < 3_000_000
