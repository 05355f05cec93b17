"""Opens the workers of a Dask scheduler for a batch. It works without Dask, which it requires when it is used."""

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager

from opencode_tui.batch.pool import Cluster, OpenCluster, Workers
from opencode_tui.cli.log import adopt_log
from opencode_tui.client.local import open_client
from opencode_tui.extras.dask.address import check_address
from opencode_tui.extras.dask.imports import SessionImports
from opencode_tui.schema.error import ConfigError


@contextmanager
def requires_cluster() -> Generator[None]:
    """Raise ConfigError with the command to install when an import inside misses the extra; send Dask's log to ours."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in ("distributed", "dask"):
            raise
        raise ConfigError(
            "Dask is not installed, which runs tasks on other machines; install it with `pip install 'opencode-tui[cluster]'`"
        ) from error
    adopt_log("distributed")


@asynccontextmanager
async def _open(cluster: Cluster) -> AsyncGenerator[Workers]:
    check_address(cluster.address, cluster.tls)
    with requires_cluster():
        from opencode_tui.extras.dask.pool import DaskWorkers
    async with open_client(cluster.environ, cluster.directory) as client:
        store = SessionImports(client).store
        workers = DaskWorkers(
            cluster.address, tls=cluster.tls, environ=cluster.environ, store=store, report=cluster.report
        )
        try:
            await workers.connect()
            yield workers
        finally:
            await workers.close()


open_cluster: OpenCluster = _open
