"""What runs the tasks of a batch: this machine, or the workers of a scheduler."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from opencode_tui.batch.pool import TLS_OPTIONS, Cluster, TlsFiles
from opencode_tui.batch.pool_local import LocalWorkers
from opencode_tui.entry_points import load
from opencode_tui.schema.error import ConfigError

if TYPE_CHECKING:
    from opencode_tui.batch.pool import OpenCluster, Workers
    from opencode_tui.batch.task import TaskOrder

F = TypeVar("F", bound=Callable[..., object])

CLUSTER_JOBS = 1000
"""Tasks that wait on a scheduler at once, which knows how many its workers can run."""

_FILE = click.Path(path_type=Path)


def tls_options(command: F) -> F:
    """Add --tls-ca, --tls-cert and --tls-key to a command."""
    for name, text in (
        ("--tls-key", "Key of that certificate (PEM)."),
        ("--tls-cert", "Certificate of this machine, which the authority signed (PEM)."),
        ("--tls-ca", "Certificate authority of the cluster (PEM), for tls://."),
    ):
        command = click.option(name, type=_FILE, metavar="FILE", help=text)(command)
    return command


def read_tls(authority: Path | None, certificate: Path | None, key: Path | None) -> "TlsFiles | None":
    """Return the files of the three options; None without any. Raises ConfigError when only some are given."""
    if authority is None and certificate is None and key is None:
        return None
    if authority is None or certificate is None or key is None:
        raise ConfigError(f"{TLS_OPTIONS} are needed together; name all three files")
    return TlsFiles(authority.expanduser(), certificate.expanduser(), key.expanduser())


@asynccontextmanager
async def open_workers(
    options: Mapping[str, Any], orders: "Sequence[TaskOrder]", *, report: Callable[[str], None]
) -> "AsyncGenerator[tuple[Workers, int], None]":
    """Return what runs the tasks, and how many to start at once; `report` gets lines about a cluster. Raises ConfigError."""
    import os  # all of it not for the help

    tls = read_tls(options["tls_ca"], options["tls_cert"], options["tls_key"])
    address = options["scheduler"]
    if address is None:
        if tls is not None:
            raise ConfigError(f"{TLS_OPTIONS} are for --scheduler; name the scheduler too")
        jobs = options["jobs"] or os.cpu_count() or 1
        yield LocalWorkers(os.environ, jobs=jobs), jobs
        return
    open_cluster = cast("OpenCluster", load("batch.cluster"))
    directory = Path(orders[0].directory) if orders else Path.cwd()
    async with open_cluster(Cluster(address, tls, directory, os.environ, report)) as workers:
        yield workers, options["jobs"] or CLUSTER_JOBS
