"""Runs on a Dask cluster, as an example of `experiment(backend=...)`: any function that maps blocks of runs to results.

    client = distributed.Client("scheduler:8786")
    client.upload_file("dask_backend.py")  # where workers do not have it
    runs = us.experiment(us.psrs(log), make, runs=100, backend=on_dask(client))

With `out=`, this process writes the runs as they come back: `n_workers` says that workers may be on other machines.
"""

from distributed import Client, KilledWorker, as_completed


def on_dask(client: Client, retries: int = 2):
    """Return a backend that makes runs on a Dask cluster; blocks that raise are tried again so often."""

    def backend(run_block, blocks, workers):
        # A task of its own: the log travels once to each worker, and again where the last worker that had it died.
        needed = client.submit(received, run_block, pure=False)
        futures = {client.submit(make_runs, needed, block, pure=False, retries=retries): block for block in blocks}
        try:
            for future in as_completed(futures):
                try:
                    runs = future.result()
                except KilledWorker as error:  # Dask has tried other workers, too: the runs count as failed
                    runs = run_block.give_up(futures[future], f"the worker died: {error}")
                yield futures[future], runs
        finally:  # also where the experiment is interrupted
            client.cancel(list(futures))

    backend.n_workers = sum(client.nthreads().values())
    return backend


def received(run_block):
    """Return what runs need, on a worker, which keeps it for all of its tasks."""
    return run_block


def make_runs(run_block, block):
    """Return the runs of a block, on a worker."""
    return run_block(block, lambda: True)
