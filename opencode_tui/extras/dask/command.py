"""`opencode-tui batch worker`: run tasks of batches that other machines start."""

from pathlib import Path

import click

from opencode_tui.batch.pool_local import LocalWorkers
from opencode_tui.cli.commands.batch.cluster import read_tls, tls_options
from opencode_tui.cli.engine_access import run_main
from opencode_tui.cli.environment import read_environment
from opencode_tui.cli.terminal import say
from opencode_tui.client.task_repository import remove_leftovers


@click.command()
@click.argument("scheduler", metavar="SCHEDULER")
@click.option("-j", "--jobs", type=click.IntRange(1, 1000), help="Tasks at once (default: the number of cores).")
@tls_options
def worker(scheduler: str, jobs: int | None, tls_ca: Path | None, tls_cert: Path | None, tls_key: Path | None) -> int:
    """Run tasks for a Dask scheduler until Ctrl+C.

    SCHEDULER is tls://HOST:PORT, or tcp://127.0.0.1:PORT on this machine: who can connect to a scheduler or a worker can run
    any code on it (its protocol is pickle), so without TLS it must not be reachable from elsewhere. A scheduler on this machine is
    started with `dask scheduler --host 127.0.0.1 --dashboard-address 127.0.0.1:8787`; its dashboard has no password. For one with
    TLS see docs/cluster.md.

    Tasks run with the settings, the keys, the trust and the sandbox of this machine. A repository that is at the same path here is
    used, else its commit comes as a git bundle.
    """
    import asyncio  # all of it not for the help
    import os

    from opencode_tui.extras.dask.address import check_address
    from opencode_tui.extras.dask.cluster import requires_cluster

    tls = read_tls(tls_ca, tls_cert, tls_key)
    check_address(scheduler, tls)
    count = jobs or os.cpu_count() or 1

    async def main() -> None:
        with requires_cluster():
            from opencode_tui.extras.dask.pool import serve_worker
        await remove_leftovers(os.environ)
        await serve_worker(
            scheduler,
            LocalWorkers(os.environ, jobs=count),
            jobs=count,
            tls=tls,
            folder=await asyncio.to_thread(lambda: read_environment().paths.cache / "worker"),
            environ=os.environ,
            report=say,
        )

    run_main(main)
    return 0
