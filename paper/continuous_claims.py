"""What the paper claims of PPO in the continuous grid, and whether the runs show it."""

from collections.abc import Mapping

import numpy as np

import understudy as us
from paper.continuous_grid import FORWARD, HOMER, ORACLE
from paper.continuous_runs import BASELINES, EXACT, LENGTH, RETURN, Settings
from paper.continuous_tables import JUDGED, LATE_MARGIN, MARGIN
from paper.items import Claim, Columns
from paper.set_tables import by_set
from paper.verdicts import all_equivalent, all_longer, error_of, listed
from understudy.runs import Runs

PRACTICAL = 1000
"""Steps: what lasts shorter is not practical."""


def faithful(judged: Mapping[str, Columns]) -> list[Claim]:
    """PSRS with the paper's encoder is equivalent to real, by both of its curves."""
    text = "OLS using “PSRS-encoder faithfully reconstructs learning curves of the real, online PPO agent”"
    value, late, training = (by_set(table)["PSRS-Homer"] for table in judged.values())
    return [
        Claim(
            f"{text}: validation (Figure 5, right).",
            all_equivalent([value, late]),
            f"With a log for each run, noise taken off, 95%: {error_of(value, 3)} at a margin of {MARGIN} over all "
            f"epochs; without the early epochs {error_of(late, 3)} at {LATE_MARGIN}, the cost of a step.",
        ),
        Claim(
            f"{text}: training (Figure 5, left).",
            all_equivalent([training]),
            f"The return within epochs, without the early ones: {error_of(training, 3)} at a margin of {LATE_MARGIN}.",
        ),
    ]


def right_states(judged: Mapping[str, Columns]) -> Claim:
    """PSRS by true states, and by Forward's, is equivalent to real, by a test that rejects a baseline."""
    tables = [by_set(table) for table in judged.values()]
    holds = all_equivalent(table[name] for table in tables for name in EXACT)
    rejected = all(table["obs-only"]["verdict"] == "different" for table in tables)
    told = [
        f"{caption}: {'; '.join(error_of(table[name], 3) for name in (*EXACT, 'obs-only'))}"
        for table, caption in zip(tables, JUDGED.values(), strict=True)
    ]
    return Claim(
        "Where states are right (the true cells, or Forward's), PSRS is equivalent to real, by a test that rejects "
        "obs-only.",
        holds if rejected or holds is False else None,
        f"{'. '.join(word[0].upper() + word[1:] for word in told)}.",
        ours=True,
    )


def baselines_are_far(judged: Mapping[str, Columns]) -> Claim:
    """The baselines are far from real."""
    lines = by_set(judged["own-logs"])
    verdicts = [lines[name]["verdict"] for name in BASELINES]
    return Claim(
        "“All other baselines, despite being efficient, are far from accurate simulations and have non-negligible "
        "error.”",
        True if set(verdicts) == {"different"} else False if "equivalent" in verdicts else None,
        f"The value of the policy, as above: {'; '.join(error_of(lines[name], 3) for name in BASELINES)}.",
    )


def close_to_oracle(judged: Mapping[str, Columns]) -> Claim:
    """PSRS with the paper's encoder is as close to real as with the true cells."""
    lines = by_set(judged["own-logs"])
    both = [lines[name] for name in ("PSRS-Homer", "PSRS-oracle")]
    return Claim(
        "“Despite the errors in the latent states from the learned encoder, it performs close to the oracle encoder, "
        "and both are close to the online PPO in the real environment.”",
        all_equivalent(both),
        f"The value of the policy, as above: {'; '.join(error_of(line, 3) for line in both)}.",
    )


def impractical(runs: Runs) -> Claim:
    """PSRS on the observations themselves does not last."""
    return Claim(
        "“PSRS on the observation space is no longer practical”, no two observations being the same.",
        bool(np.median(runs.lengths) < PRACTICAL),
        f"{len(runs)} runs lasted {int(runs.lengths.min()):,} to {int(runs.lengths.max()):,} steps.",
    )


def inversely_correlated(real: Runs) -> Claim:
    """Longer validation episodes have lower returns."""
    lengths, returns = (real.curve(probe)[1].ravel() for probe in (LENGTH, RETURN))
    correlation = float(np.corrcoef(lengths, returns)[0, 1])
    return Claim(
        "Lengths of validation episodes are “inversely correlated with episode returns” (appendix B.3).",
        correlation < 0,
        f"Over all epochs of {len(real)} real runs the correlation is {correlation:.3f}.",
    )


def more_efficient(own: Mapping[str, Runs], settings: Settings) -> Claim:
    """PSRS lasts longer than QBE; the paper does not show it here."""
    pairs = {
        encoder: [own[f"{kind}-{encoder}"][: settings.other_runs] for kind in ("PSRS", "QBE")]
        for encoder in (ORACLE, HOMER, FORWARD)
    }
    ratios = {encoder: us.ratio_of_medians(*pair) for encoder, pair in pairs.items()}
    told = [f"{r.value:.2f} with {name}'s states ({r.low:.2f} to {r.high:.2f})" for name, r in ratios.items()]
    return Claim(
        "PSRS “was shown to be more efficient than QBE” (section 3, of Mandel et al.'s work); not shown for PPO.",
        all_longer(ratio.interval for ratio in ratios.values()),
        f"Median lengths with a log for each run, PSRS / QBE: {listed(told)}.",
    )
