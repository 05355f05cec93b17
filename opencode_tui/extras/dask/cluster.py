"""Opens the workers of a Dask scheduler for a batch. It works without Dask, which it requires when it is used."""

from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from opencode_tui.batch.pool import OpenCluster, TlsFiles, Workers
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
async def _open(
    address: str,
    tls: TlsFiles | None,
    directory: Path,
    *,
    environ: Mapping[str, str],
    report: Callable[[str], None],
) -> AsyncGenerator[Workers]:
    check_address(address, tls)
    with requires_cluster():
        from opencode_tui.extras.dask.pool import DaskWorkers
    async with open_client(environ, directory) as client:
        store = SessionImports(client).store
        workers = DaskWorkers(address, tls=tls, environ=environ, store=store, report=report)
        try:
            await workers.connect()
            yield workers
        finally:
            await workers.close()


open_cluster: OpenCluster = _open
