"""Work spread over processes of this machine (joblib) or over a Dask cluster.

Items are independent of each other and results come back in the order of the items, so that what
is assembled from them is the same however many workers there are. (Encoders differ in the last
digit, about 1e-7, with the number of threads a process has; rankings compare six decimals.) A
worker that dies on the way costs time only: its items are done again by the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from workbench.errors import ModelError, UsageError
from workbench.schema import Record

__all__ = ["ALONE", "Workers", "spread"]

T = TypeVar("T")
R = TypeVar("R")

CONNECT_SECONDS = 10
# How often work is taken up again on this machine after a process has died.
ATTEMPTS = 4
# How long a cluster may be without any worker before its work is given up.
PATIENCE_SECONDS = 60.0


class Workers(Record, frozen=True, kw_only=True):
    """Who does the work: `jobs` processes of this machine (-1: one a processor; 1: this process),
    or the Dask cluster whose scheduler answers at `scheduler` ("tcp://10.0.0.1:8786")."""

    jobs: int = 1
    scheduler: str | None = None


ALONE = Workers()


def spread(
    work: Callable[[T], R], items: Sequence[T], workers: Workers = ALONE, patience: float = 0.0
) -> Iterator[R]:
    """`work(item)` of every item, in the order of the items, each as soon as it and those before
    it are done.

    `work` must be a function of an importable module; items and results travel between
    processes. What it raises is raised here. `patience` (default 60 s) is how long a cluster may
    be without workers. Raises UsageError for `jobs` that cannot be meant or a missing extra,
    ModelError where no scheduler answers, no worker is left, or workers die again and again.
    """
    if workers.jobs == 0 or workers.jobs < -1:
        raise UsageError(f"--jobs must be a number of processes, or -1 for all, not {workers.jobs}")
    if workers.scheduler is not None:
        return _on_cluster(work, items, workers.scheduler, patience or PATIENCE_SECONDS)
    if workers.jobs == 1 or len(items) < 2:
        return map(work, items)
    return _on_this_machine(work, items, workers.jobs)


def _on_this_machine(work: Callable[[T], R], items: Sequence[T], jobs: int) -> Iterator[R]:
    from joblib import Parallel, delayed

    done = 0
    for _ in range(ATTEMPTS):
        # One item a dispatch: they are whole scopes, few, large and of unequal size. No memory
        # maps: vectors of what people said would lie about in temporary files.
        pool = Parallel(n_jobs=jobs, return_as="generator", batch_size=1, max_nbytes=None)
        try:
            for result in pool(delayed(work)(item) for item in items[done:]):
                done += 1
                yield result
            return
        except BrokenProcessPool:
            continue  # a process was killed: the items from here on are done again
    raise ModelError(
        f"processes died {ATTEMPTS} times over item {done + 1} of {len(items)}; "
        "is there enough memory? Try fewer --jobs"
    )


def _on_cluster(
    work: Callable[[T], R], items: Sequence[T], address: str, patience: float
) -> Iterator[R]:
    """Lost items are computed again by the scheduler, which remembers what they were made from;
    it gives an item up when several workers in a row have died of it."""
    dask = _dask()
    try:
        client = dask.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ModelError(f"no Dask scheduler answers at {address!r}: {error}") from error
    try:
        # Not pure: results are never taken over from another client's work of the same name.
        for future in client.map(work, items, pure=False):
            try:
                yield _result(client, future, patience)
            except dask.KilledWorker as error:
                raise ModelError(
                    f"a piece of work was given up: {error}. Do the workers have enough memory?"
                ) from error
    finally:
        client.close()


def _result(client: Any, future: Any, patience: float) -> Any:
    """What a future comes to; a ModelError when no worker has been there for `patience`."""
    while True:
        try:
            return future.result(timeout=patience)
        except TimeoutError:
            if future.done():  # then it is what the work itself raised
                raise
            if not client.ncores():
                raise ModelError(
                    f"the Dask cluster has had no worker for {patience:g} s; start some with "
                    "`dask worker ADDRESS`, or leave out --scheduler"
                ) from None


def _dask() -> Any:
    try:
        import distributed
    except ImportError:
        raise UsageError(
            "--scheduler needs Dask, which is an extra: pip install 'recall-workbench[cluster]'"
        ) from None
    return distributed
