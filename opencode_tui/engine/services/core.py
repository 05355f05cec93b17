"""Builds the services that exist once per process: storage, locks, bus, runs."""

import asyncio
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from opencode_tui.bus import Bus
from opencode_tui.config.flags import Flags, read_flags
from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.project.projects import Projects
from opencode_tui.engine.provider.model_table import ModelTable
from opencode_tui.engine.provider.recent import RecentModels
from opencode_tui.engine.session.records.fork_copy import ForkQueue
from opencode_tui.engine.session.records.store import Publisher, SessionStore
from opencode_tui.engine.session.runs import RunRegistry, SessionStatuses
from opencode_tui.engine.session.session_lock import SessionLock
from opencode_tui.engine.session.tokens.estimate import TokenEstimator
from opencode_tui.schema.ids import Clock, Identifier
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.migrations import Migrations
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.session_index import SessionIndex
from opencode_tui.storage.storage import Storage

if TYPE_CHECKING:
    from opencode_tui.engine.importing.service import Imports
    from opencode_tui.engine.provider.model_fetch import ModelLists
    from opencode_tui.engine.search.service import SearchService
    from opencode_tui.engine.sign_in.waiting import WaitingSignIns
    from opencode_tui.storage.trash import Trash


class Core(Struct, frozen=True):
    """The services that exist once per process."""

    environ: Mapping[str, str]
    flags: Flags
    paths: Paths
    clock: Clock
    identifier: Identifier
    bus: Bus
    storage: Storage
    locks: Locks
    migrations: Migrations
    projects: Projects
    publisher: Publisher
    statuses: SessionStatuses
    store: SessionStore
    copies: ForkQueue
    runs: RunRegistry
    session_lock: SessionLock
    recent: RecentModels
    models: ModelTable
    model_lists: "Lazy[ModelLists]"
    estimator: TokenEstimator
    search: "Lazy[SearchService]"
    imports: "Lazy[Imports]"
    trash: "Lazy[Trash]"
    sign_ins: "Lazy[WaitingSignIns]"
    fetched: set[str]
    """Addresses whose settings this process has fetched, or tried to."""


def build_core(
    *,
    environ: Mapping[str, str],
    paths: Paths,
    group: asyncio.TaskGroup,
    clock: Clock,
    identifier: Identifier,
    files: FileSystem | None = None,
) -> Core:
    """Return the services of the process; accesses no file."""
    bus = Bus()
    storage = Storage(paths, files=files)
    locks = Locks(paths)
    publisher = Publisher(bus=bus)
    statuses = SessionStatuses(publish=publisher.publish)
    index = SessionIndex(storage)
    copies = ForkQueue(group=group, storage=storage, locks=locks, publisher=publisher)
    store = SessionStore(
        storage=storage, locks=locks, index=index, publisher=publisher, clock=clock, resume_copy=copies.resume
    )
    runs = RunRegistry(group=group, locks=locks, store=store, copies=copies, statuses=statuses, publisher=publisher)
    return Core(
        environ=environ,
        flags=read_flags(environ),
        paths=paths,
        clock=clock,
        identifier=identifier,
        bus=bus,
        storage=storage,
        locks=locks,
        migrations=Migrations(paths, locks=locks, list_root_commits=partial(_root_commits, environ), clock=clock),
        projects=Projects(storage=storage, locks=locks, clock=clock, publish=publisher.publish),
        publisher=publisher,
        statuses=statuses,
        store=store,
        copies=copies,
        runs=runs,
        session_lock=SessionLock(store=store, runs=runs, locks=locks, copies=copies),
        recent=RecentModels(state=paths.state),
        models=ModelTable(cache=paths.cache),
        model_lists=Lazy(partial(_make_model_lists, paths, clock)),
        estimator=TokenEstimator(folder=paths.state / "tokens"),
        search=Lazy(partial(_make_search, paths, bus)),
        imports=Lazy(
            partial(
                _imports, paths, environ, storage=storage, locks=locks, store=store, publisher=publisher, clock=clock
            )
        ),
        trash=Lazy(partial(_make_trash, paths, locks, clock, files)),
        sign_ins=Lazy(partial(_make_sign_ins, paths, environ)),
        fetched=set(),
    )


def _make_sign_ins(paths: Paths, environ: Mapping[str, str]) -> "WaitingSignIns":
    from opencode_tui.engine.sign_in.waiting import WaitingSignIns  # only when a client signs in

    return WaitingSignIns(paths, environ)


def _make_trash(paths: Paths, locks: Locks, clock: Clock, files: FileSystem | None) -> "Trash":
    from opencode_tui.storage.trash import Trash  # most processes find no deleted session

    return Trash(paths, locks=locks, clock=clock, files=files)


def _imports(
    paths: Paths,
    environ: Mapping[str, str],
    *,
    storage: Storage,
    locks: Locks,
    store: SessionStore,
    publisher: Publisher,
    clock: Clock,
) -> "Imports":
    from opencode_tui.engine.importing.service import Imports  # few processes import sessions

    return Imports(
        paths=paths, environ=environ, storage=storage, locks=locks, store=store, publisher=publisher, clock=clock
    )


def _make_model_lists(paths: Paths, clock: Clock) -> "ModelLists":
    from opencode_tui.engine.provider.model_fetch import ModelLists  # imported when a list of models is opened

    return ModelLists(cache=paths.cache, clock=clock)


def _make_search(paths: Paths, bus: Bus) -> "SearchService":
    from opencode_tui.engine.search.service import SearchService  # imported with the first search

    return SearchService(paths, bus.subscribe)


def _root_commits(environ: Mapping[str, str], folder: Path) -> list[str]:
    from opencode_tui.engine.project.git import list_root_commits  # imported only to migrate an old store

    return list_root_commits(folder, environ=environ)
