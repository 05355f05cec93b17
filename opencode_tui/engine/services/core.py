"""The services that exist once per process: storage, locks, bus, runs."""

from collections.abc import Callable, Mapping
from typing import cast

from opencode_tui.bus import Bus
from opencode_tui.config.auth import AuthStore
from opencode_tui.config.flags import read_flags
from opencode_tui.engine.imports import SessionImports
from opencode_tui.engine.lazy import service
from opencode_tui.engine.project.opening import store_migrations
from opencode_tui.engine.project.projects import Projects
from opencode_tui.engine.provider.model_table import ModelTable
from opencode_tui.engine.provider.recent import RecentModels
from opencode_tui.engine.session.records.fork_copy import ForkCopies
from opencode_tui.engine.session.records.open_records import Publisher
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.runs import RunRegistry, SessionStatuses
from opencode_tui.engine.session.session_lock import SessionLock
from opencode_tui.engine.session.tokens.estimate import TokenEstimator
from opencode_tui.entry_points import load
from opencode_tui.schema.ids import Clock, Identifier
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.session_index import SessionIndex
from opencode_tui.storage.storage import Storage
from opencode_tui.tasks import Tasks


class Core:
    """The services that exist once per process. Making them accesses no file."""

    def __init__(
        self,
        *,
        environ: Mapping[str, str],
        paths: Paths,
        tasks: Tasks,
        clock: Clock,
        identifier: Identifier,
        files: FileSystem | None = None,
    ) -> None:
        """`files` are the file system calls of the storage."""
        self.environ = environ
        self.flags = read_flags(environ)
        self.paths = paths
        self.clock = clock
        self.identifier = identifier
        self._files = files
        self.fetched: set[str] = set()
        """Addresses whose settings this process has fetched, or tried to."""
        self.bus = bus = Bus()
        self.auth = AuthStore(paths=paths)
        self.storage = storage = Storage(paths, files=files)
        self.locks = locks = Locks(paths, keep=storage.keep)
        self.publisher = publisher = Publisher(bus=bus)
        self.migrations = store_migrations(paths, locks=locks, clock=clock, environ=environ)
        self.statuses = SessionStatuses(publish=publisher.publish)
        self.copies = ForkCopies(storage, locks)
        self.index = SessionIndex(storage)
        self.store = SessionStore(
            storage=storage,
            locks=locks,
            index=self.index,
            publisher=publisher,
            identifier=identifier,
        )
        self.runs = RunRegistry(
            tasks=tasks,
            locks=locks,
            store=self.store,
            statuses=self.statuses,
            publisher=publisher,
        )
        self.session_lock = SessionLock(store=self.store, runs=self.runs, locks=locks)
        self.projects = Projects(
            storage=storage, locks=locks, clock=clock, publish=publisher.publish, hold=self.store.locked
        )
        self.recent = RecentModels(state=paths.state)
        self.models = ModelTable(cache=paths.cache)
        self.estimator = TokenEstimator(folder=paths.state / "tokens")

    @service
    def trash(self):
        """The deleted sessions; most processes find none."""
        from opencode_tui.storage.trash import Trash

        return Trash(self.paths, locks=self.locks, clock=self.clock, files=self._files)

    @service
    def sign_ins(self):
        """The sign-ins with the browser that wait, when a client signs in."""
        from opencode_tui.engine.sign_in.waiting import WaitingSignIns

        return WaitingSignIns(self.paths, self.environ)

    @service
    def imports(self):
        """The import of sessions of other programs; few processes import any."""
        return cast("MakeImports", load("importing"))(self)

    @service
    def model_lists(self):
        """The newer lists of models, when one is opened."""
        from opencode_tui.engine.provider.model_fetch import ModelLists

        return ModelLists(cache=self.paths.cache, clock=self.clock)

    @service
    def search(self):
        """The search in sessions, with the first one."""
        from opencode_tui.engine.search.service import SearchService

        return SearchService(self.paths, self.bus.subscribe)


MakeImports = Callable[[Core], SessionImports]
"""What the extra that imports sessions is."""
