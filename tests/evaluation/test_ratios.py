import numpy as np
import pytest

import understudy as us


def test_the_ratio_of_medians_covers_the_true_one():
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(60):
        shared = rng.uniform(0.9, 1.1, 100)  # the log that a pair of runs has in common
        pair = [(scale * shared * rng.uniform(0.9, 1.1, 100)).astype(int) for scale in (3000, 2000)]
        ratio = us.ratio_of_medians(*pair)
        covered += ratio.low <= 1.5 <= ratio.high
    assert covered >= 51  # of 95%, less than this happens once in 500


def test_pairs_are_resampled_together_so_that_what_they_share_cancels():
    rng = np.random.default_rng(2)
    shared = rng.uniform(0.5, 1.5, 100)
    paired = us.ratio_of_medians(3 * shared, 2 * shared)
    assert paired.interval == pytest.approx((1.5, 1.5))
    apart = us.ratio_of_medians(3 * shared, 2 * rng.permutation(shared))
    assert apart.high - apart.low > 0.1


def test_of_runs_the_lengths_are_compared(runs_of):
    ratio = us.ratio_of_medians(runs_of([30, 60, 90]), runs_of([10, 20, 30]))
    assert ratio == us.Ratio(3.0, 3.0, 3.0)
    assert str(ratio) == "3.00 (3.00 to 3.00, 95%)"


def test_spreads_are_standard_deviations():
    values = np.random.default_rng(3).standard_normal(50)
    assert us.ratio_of_spreads(2 * values + 5, values).value == pytest.approx(2.0)


def test_sets_that_cannot_be_paired_are_refused(runs_of):
    with pytest.raises(us.SettingError, match=r"there are \(2,\) and \(3,\) values; .* equally many"):
        us.ratio_of_medians(runs_of([30, 60]), runs_of([10, 20, 30]))
    with pytest.raises(us.SettingError, match="equally many"):
        us.ratio_of_medians(np.empty(0), np.empty(0))


def test_a_ratio_is_shown_as_its_sentence_and_converts_to_a_table():
    ratio = us.Ratio(1.5, 1.38, 1.6345)
    assert repr(ratio) == str(ratio) == "1.50 (1.38 to 1.63, 95%)"
    frame = ratio.to_frame()
    assert frame.to_pydict() == {"value": [1.5], "low": [1.38], "high": [1.6345]}
    assert us.Ratio(2, 1, 3).to_frame().schema == frame.schema
    html = ratio._repr_html_()
    assert "<p>1.50 (1.38 to 1.63, 95%)</p>" in html
    assert '<th scope="row">low</th><td class="number">1.38</td>' in html
