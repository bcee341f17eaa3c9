"""What is claimed of learned encoders: how long they train, and what they find on the paper's continuous grid."""

import time

import numpy as np

import understudy as us


def grid_log(n_rows):
    """A uniform log of the continuous grid, and the true cell of each row."""
    env = us.envs.ContinuousGrid()
    log = us.Log.from_columns(**env.rollout_cells(np.full((25, 5), 0.2), steps=n_rows, seed=1))
    return log, env.latent(log.observation)


def score(encoder, log, cell):
    """Cells that are some state's majority, and the share of rows in a state of theirs."""
    counts = np.zeros((encoder.n_states, 25), dtype=np.int64)
    np.add.at(counts, (encoder.encode(log.observation), cell), 1)
    used = counts[counts.any(axis=1)]
    return len(np.unique(used.argmax(axis=1))), used.max(axis=1).sum() / len(log)


def cpu_seconds_of(call):
    begun = time.process_time()
    call()
    return time.process_time() - begun


def homer_epoch(log, device, seconds_of):
    """Seconds of an epoch over half the rows of a log, in batches of 4,096."""
    _, one, five = (  # the first one warms up
        seconds_of(lambda n=n: us.encoders.Homer(max_epochs=n, batch_size=4096, device=device).fit(log))
        for n in (1, 1, 5)
    )
    return (five - one) / 4


def measure(quick):
    try:
        us.encoders.Forward  # noqa: B018 (to see whether torch is there)
    except ModuleNotFoundError as error:
        print(f"learned encoders are left out: {error}")
        return
    log, cell = grid_log(1_000_000)
    yield "Homer, an epoch over 500k rows, batches of 4,096", homer_epoch(log, "cpu", cpu_seconds_of), "CPU s", 5, False
    if quick:
        return
    encoder = us.encoders.Forward(0, device="cpu")
    begun = time.perf_counter()
    encoder.fit(log)
    yield "Forward, 1e6 rows", time.perf_counter() - begun, "s", 90, False
    found, right = score(encoder, log, cell)
    yield "  states found", found, "of 24", 24, True
    yield "  rows in a state of their cell", 100 * right, "%", 99.5, True
