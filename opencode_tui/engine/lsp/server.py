"""One running language server of one root: its documents, and the errors that edits bring.

The errors of a document before an edit are known from when it was opened or last checked. A check that is not ready in time leaves
them as they are, so that the next check reports what this one could not.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from opencode_tui.engine.lsp.change import FileChange
from opencode_tui.engine.lsp.connection import (
    Connection,
    MethodNotFoundError,
    RequestError,
    ServerGoneError,
    spawn,
)
from opencode_tui.engine.lsp.diagnostics import MOST_FILES, FileErrors, NewErrors, errors_of, new_errors
from opencode_tui.engine.lsp.document import Document, Encoding, path_of, read_text, sendable, stamp_of
from opencode_tui.engine.lsp.known_servers import Found, introduce, language_of
from opencode_tui.engine.project.programs import Program, Start, start_program
from opencode_tui.schema.record import JsonObject

START_S = 45.0
"""Seconds that a server has to answer the first request."""

COLD_S = 120.0
"""Seconds that a server has for the first diagnostics of a file; nothing waits for them."""

MOST_DOCUMENTS = 40
"""Most documents that are open in a server; the one that was not used for longest is closed."""

_QUIET_S = 0.15
"""After this many seconds without news, pushed diagnostics without a version are complete. Source: OpenCode 1.1.65."""
_RETRY_S = 0.05
_RETRIES = 20
_AGAIN = (-32801, -32802)
"""Codes of the protocol: the content was modified, the server canceled; ask again."""
_SILENT_S = 0.2
"""How long a server is waited for that did not push anything after earlier edits."""
_PULL = "textDocument/diagnostic"
_WARM_UP = "warm up: "
_MOST_EVENTS = 1_000
_CREATED, _CHANGED, _DELETED = 1, 2, 3


class _SilentError(TimeoutError):
    """The server pushed nothing about a document, as after earlier edits."""


class LanguageServer:
    """A server that was started, opened by `start`. `noticed` is called when diagnostics of a path arrived."""

    def __init__(
        self,
        found: Found,
        root: Path,
        *,
        environ: Mapping[str, str],
        noticed: Callable[[Path], None],
        start_process: Start = start_program,
    ) -> None:
        self.found = found
        self.root = root
        self.is_ready = asyncio.Event()
        self.start_ended = asyncio.Event()
        """Set with `is_ready`, and when the start failed."""
        self.is_warm = False
        self.encoding: Encoding = "utf-16"
        self.last_used = 0.0
        self._environ = {**environ, **found.server.environ}
        self._noticed = noticed
        self._start_process = start_process
        self._connection: Connection | None = None
        self._capabilities: JsonObject = {}
        self._registered: dict[str, str] = {}
        self._documents: OrderedDict[Path, Document] = OrderedDict()
        self._known: dict[Path, FileErrors] = {}
        self._unchecked: set[Path] = set()
        self._published: dict[str, tuple[int | None, Any]] = {}
        self._news = asyncio.Event()
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._frozen_at = -1
        self._silent = 0
        self._must_refresh = False
        self._is_refreshing = False

    async def start(self) -> None:
        """Start the process and agree on capabilities. Raises OSError, ServerGoneError, RequestError, TimeoutError."""
        try:
            await self._start()
        finally:
            self.start_ended.set()

    async def _start(self) -> None:
        self._connection = await Connection.start(
            Program(self.found.argv, self.root, self._environ),
            answer=self._answer,
            notice=self._notice,
            start=self._start_process,
        )
        result = await self._connection.request("initialize", introduce(self.root, self.found), timeout_s=START_S)
        given = cast("JsonObject", result).get("capabilities") if isinstance(result, dict) else None
        self._capabilities = cast("JsonObject", given) if isinstance(given, dict) else {}
        encoding = self._capabilities.get("positionEncoding")
        self.encoding = encoding if encoding in ("utf-8", "utf-32") else "utf-16"
        self._connection.notify("initialized", {})
        self._connection.notify("workspace/didChangeConfiguration", {"settings": self.found.server.initialization})
        self.is_ready.set()

    @property
    def connection(self) -> Connection:
        """The connection. Raises ServerGoneError before `start`."""
        if self._connection is None:
            raise ServerGoneError
        return self._connection

    @property
    def is_gone(self) -> bool:
        """Whether the process has ended."""
        return self._connection is not None and self._connection.ended.is_set()

    @property
    def is_frozen(self) -> bool:
        """Whether the server has said nothing since a check that was not ready in time."""
        return self._connection is not None and self._connection.heard == self._frozen_at

    @property
    def documents(self) -> Collection[Path]:
        """The files that are open in the server."""
        return self._documents.keys()

    def can(self, capability: str) -> bool:
        """Return whether the server announced a capability, such as `hoverProvider`."""
        return self._capabilities.get(capability) not in (None, False)

    async def close(self) -> None:
        """End the server and all that waits for it."""
        await self._cancel_tasks()
        if self._connection is not None:
            await self._connection.close()
            await self._cancel_tasks()  # what the server demanded while it ended

    async def _cancel_tasks(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def is_warming(self) -> bool:
        """Whether a change is on its way to the server in the background, so that it may not know it yet."""
        return any(task.get_name().startswith(_WARM_UP) for task in self._tasks)

    async def wait_warm(self) -> None:
        """Return when it has started, or failed to, and knows the changes that are on their way to it."""
        await self.start_ended.wait()
        if warming := {task for task in self._tasks if task.get_name().startswith(_WARM_UP)}:
            await asyncio.wait(warming)

    def unchecked_of(self, paths: Collection[Path]) -> list[Path]:
        """Return those of these files whose changes the server knows and whose errors no check has reported."""
        return [path for path in paths if path in self._unchecked]

    def warm_up(self, change: FileChange) -> None:
        """In the background, learn the errors before a change and then make the change known; the next check reports its errors."""
        spawn(self._warm_up(change), self._tasks, name=f"{_WARM_UP}{change.path.name}")

    async def check(self, changes: Sequence[FileChange], *, limit_s: float | None = None) -> list[NewErrors]:
        """Make changes known to the server; return the new errors of these files and of other open ones, in this order.

        After `limit_s` seconds no more of the other files are asked about. When it is canceled, the next check reports them.
        Raises ServerGoneError, RequestError.
        """
        is_done, heard, waiting = False, self.connection.heard, list(changes)
        until = None if limit_s is None else asyncio.get_running_loop().time() + limit_s
        try:
            async with self._lock:
                await self._learn(changes)
                await self._refresh({change.path for change in changes})
                while waiting:
                    self._apply(waiting.pop(0))
                    await self.connection.drain()
                found = await self._collect([change.path for change in changes if change.after is not None], until)
            is_done = True
            return found
        finally:
            if not is_done and self.connection.heard == heard:
                self._frozen_at = heard
            for change in waiting if not self.is_gone else ():
                self.warm_up(change)

    async def check_again(self, paths: Sequence[Path], *, limit_s: float) -> list[NewErrors]:
        """Return the new errors of files whose changes were made known by `warm_up`, and of other open ones, as `check` does."""
        for task in tuple(self._tasks):  # it queues for the same lock; what is known must be complete
            if task.get_name().startswith(_WARM_UP):
                await asyncio.wait({task})
        until = asyncio.get_running_loop().time() + limit_s
        async with self._lock:
            await self._refresh(())
            return await self._collect([path for path in paths if path in self._unchecked], until)

    def follow_files(self, paths: Sequence[Path]) -> None:
        """In the background, make files known that others changed, made or deleted."""
        spawn(self._follow_files(paths), self._tasks, name=f"{self.found.server.id}: changed files")

    async def open(self, path: Path) -> Document | None:
        """Return the document of a file with its present text, opened for requests; None when it cannot be read."""
        read = await asyncio.to_thread(read_text, path)
        if read is None:
            return None
        document = self._documents.get(path)
        if document is None:
            return self._open(path, read[0], read[1])
        self._documents.move_to_end(path)
        if document.text != read[0]:
            self._change(document, *read)
        return document

    async def diagnose(self, document: Document) -> FileErrors:
        """Return the present errors of a document; these are known from now on.

        Raises ServerGoneError, RequestError, TimeoutError.
        """
        errors = await self._diagnose(document)
        self._known[document.path] = errors
        self._unchecked.discard(document.path)
        return errors

    async def _warm_up(self, change: FileChange) -> None:
        async with self._lock:
            await self.is_ready.wait()
            with suppress(TimeoutError):
                await self._learn([change], limit_s=COLD_S)
            document = self._documents.get(change.path)
            if document is not None and change.before == change.after:  # a file that was read
                document.stamp = stamp_of(change.path)
                return
            self._apply(change)
            await self.connection.drain()
            document = self._documents.get(change.path)
            if not self.is_warm and document is not None:
                async with asyncio.timeout(COLD_S):
                    await self._diagnose(document)
                self.is_warm = True

    async def _learn(self, changes: Sequence[FileChange], *, limit_s: float | None = None) -> None:
        """Learn the errors of files as they were before changes, where they are not known."""
        for change in changes:
            document = self._documents.get(change.path)
            before = None if change.before is None else sendable(change.before)
            if before is None or (document is not None and document.text == before and change.path in self._known):
                continue
            if document is not None and change.path in self._unchecked:
                continue  # an earlier change is not reported yet
            if document is None:
                document = self._open(change.path, before, None)
            elif document.text != before:
                self._change(document, before, None)
            with suppress(_SilentError):
                async with asyncio.timeout(limit_s):
                    self._known[change.path] = await self._diagnose(document)
                self.is_warm = True

    async def _refresh(self, changed: Collection[Path]) -> None:
        """Make known what others changed in open files; the errors there are unknown then, as they are not those of an edit."""
        others = [document for path, document in self._documents.items() if path not in changed and document.stamp]
        stamps = await asyncio.to_thread(lambda: [stamp_of(document.path) for document in others])
        for document, stamp in zip(others, stamps, strict=True):
            if stamp == document.stamp:
                continue
            read = await asyncio.to_thread(read_text, document.path)
            if read is None:
                self._close(document.path)
                self._announce(document.path, _DELETED)
            elif read[0] != document.text:
                self._change(document, *read)
                self._announce(document.path, _CHANGED)
                self._known.pop(document.path, None)
                await self.connection.drain()
            else:
                document.stamp = stamp

    async def _follow_files(self, paths: Sequence[Path]) -> None:
        """Make files known that others changed. Whether one is new is not known here, so it counts as new and as changed."""
        async with self._lock:
            rest = [path for path in paths[:_MOST_EVENTS] if path not in self._documents]
            await self._refresh(())
            exist = await asyncio.to_thread(lambda: [path.exists() for path in rest])
            events = [
                {"uri": path.as_uri(), "type": kind}
                for path, exists in zip(rest, exist, strict=True)
                for kind in ((_CREATED, _CHANGED) if exists else (_DELETED,))
            ]
            if events:
                self.connection.notify("workspace/didChangeWatchedFiles", {"changes": events})
                await self.connection.drain()

    def _apply(self, change: FileChange) -> None:
        """Make a change known: of a deleted file, of a new one, or the new text."""
        path, document = change.path, self._documents.get(change.path)
        if change.after is None:
            self._close(path)
            self._announce(path, _DELETED)
            return
        text, stamp = sendable(change.after), stamp_of(path)
        self._announce(path, _CREATED if change.before is None else _CHANGED)
        if document is None:
            document = self._open(path, text, stamp)
            if change.source is not None and change.source not in self._known:
                self._known.pop(path, None)
            elif change.before is None:
                self._known[path] = FileErrors() if change.source is None else self._known[change.source]
        else:
            self._change(document, text, stamp)
            self._documents.move_to_end(path)
        self._unchecked.add(path)
        self.connection.notify("textDocument/didSave", {"textDocument": {"uri": document.uri}, "text": text})

    def _announce(self, path: Path, kind: int) -> None:
        self.connection.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": path.as_uri(), "type": kind}]})

    async def _collect(self, edited: Sequence[Path], until: float | None) -> list[NewErrors]:
        """Return the new errors of the edited files, then those of other open ones that come until a time of the loop."""
        recent = [path for path in reversed(self._documents) if path not in edited]
        late = [path for path in recent if path in self._unchecked]
        others = list(dict.fromkeys([*late, *recent]))[:MOST_FILES]
        if not self._pulls:
            others = [path for path in others if path in late or self._documents[path].uri in self._published]
        found: list[NewErrors] = []
        for path in edited:
            found += await self._compare(path, is_pushed=False)
        with suppress(TimeoutError):
            async with asyncio.timeout_at(until):
                for path in others:
                    found += await self._compare(path, is_pushed=not self._pulls and path not in late)
        return found

    async def _compare(self, path: Path, *, is_pushed: bool) -> list[NewErrors]:
        """Return the new errors of a file, with `is_pushed` from what the server sent so far; all are known from then on."""
        document, before = self._documents.get(path), self._known.get(path)
        if document is None:
            return []
        try:
            after = self._pushed(document) if is_pushed else await self._diagnose(document)
        except _SilentError:
            return []
        self.is_warm = True
        self._known[path] = after
        self._unchecked.discard(path)
        return [] if before is None else [new_errors(path, document.text, before, after, self.encoding)]

    @property
    def _pulls(self) -> bool:
        return self.can("diagnosticProvider") or _PULL in self._registered.values()

    async def _diagnose(self, document: Document) -> FileErrors:
        """Return the errors of a document's present text. Waits without a limit of its own.

        Raises _SilentError, ServerGoneError, RequestError, TimeoutError.
        """
        while not self._pulls:
            if await self._wait_for_push(document):
                return self._pushed(document)
        for _ in range(_RETRIES):
            try:
                result = await self.connection.request(_PULL, {"textDocument": {"uri": document.uri}}, timeout_s=COLD_S)
            except RequestError as error:
                if error.code not in _AGAIN:
                    raise
                await asyncio.sleep(_RETRY_S)
                continue
            self._noticed(document.path)
            items = cast("JsonObject", result).get("items") if isinstance(result, dict) else None
            return errors_of(items, document.text)
        return self._known.get(document.path, FileErrors())

    def _pushed(self, document: Document) -> FileErrors:
        _, items = self._published.get(document.uri, (None, []))
        return errors_of(items, document.text)

    async def _wait_for_push(self, document: Document) -> bool:
        """Return when the diagnostics of the present text were pushed, or False when the server wants to be asked.

        Raises _SilentError.
        """
        try:
            async with asyncio.timeout(_SILENT_S if self._silent > 1 and self.is_warm else None):
                while True:
                    if self._pulls:
                        return False
                    if document.uri in self._published:
                        version = self._version(document)
                        if version == document.version:
                            break
                        if version is None:
                            while not await self._is_quiet():
                                pass
                            break
                    if self.is_gone:
                        raise ServerGoneError
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise _SilentError from None
        except asyncio.CancelledError:
            self._silent += 1
            raise
        self._silent = 0
        return True

    def _version(self, document: Document) -> int | None:
        return self._published.get(document.uri, (None, None))[0]

    async def _is_quiet(self) -> bool:
        """Return whether nothing is pushed for a while."""
        self._news.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(_QUIET_S):
                await self._news.wait()
                return False
        return True

    def _open(self, path: Path, text: str, stamp: tuple[int, int] | None) -> Document:
        document = self._documents[path] = Document(path, language_of(path), text, stamp)
        self.connection.notify("textDocument/didOpen", {"textDocument": document.item})
        while len(self._documents) > MOST_DOCUMENTS:
            self._close(next(iter(self._documents)))
        return document

    def _change(self, document: Document, text: str, stamp: tuple[int, int] | None) -> None:
        self._published.pop(document.uri, None)
        self.connection.notify("textDocument/didChange", document.change(text, stamp))

    def _close(self, path: Path) -> None:
        document = self._documents.pop(path, None)
        self._known.pop(path, None)
        self._unchecked.discard(path)
        if document is not None:
            self._published.pop(document.uri, None)
            self.connection.notify("textDocument/didClose", {"textDocument": {"uri": document.uri}})

    def _notice(self, method: str, params: Any) -> None:
        if not method:  # the server has ended
            self._news.set()
        if method != "textDocument/publishDiagnostics":
            return
        path = path_of(params["uri"])
        document = self._documents.get(path) if path is not None else None
        if path is None or document is None:
            return
        version = params.get("version")
        self._published[document.uri] = (version if isinstance(version, int) else None, params["diagnostics"])
        if version == document.version:
            self._silent = 0
        self._news.set()
        if not self._pulls:
            self._noticed(path)

    def _answer(self, method: str, params: Any) -> Any:
        match method:
            case "workspace/configuration":
                return [_section(self.found.server.initialization, item.get("section")) for item in params["items"]]
            case "workspace/workspaceFolders":
                return [{"uri": self.root.as_uri(), "name": self.root.name}]
            case "client/registerCapability":
                self._registered.update({one["id"]: one["method"] for one in params["registrations"]})
                self._news.set()
            case "client/unregisterCapability":
                for one in params.get("unregisterations", params.get("unregistrations", [])):
                    self._registered.pop(one["id"], None)
            case "workspace/diagnostic/refresh":
                self._must_refresh = True
                if not self._is_refreshing:
                    self._is_refreshing = True
                    spawn(self._learn_again(), self._tasks, name=f"{self.found.server.id}: refresh")
            case "workspace/applyEdit":
                return {"applied": False}
            case "window/workDoneProgress/create" | "window/showMessageRequest" | "workspace/semanticTokens/refresh":
                pass
            case "workspace/inlayHint/refresh" | "workspace/codeLens/refresh":
                pass
            case _:
                raise MethodNotFoundError
        return None

    async def _learn_again(self) -> None:
        """Replace the known errors of the recent documents: the server knows more now. Edits come between two documents."""
        try:
            while self._must_refresh:
                self._must_refresh = False
                for path in list(reversed(self._documents))[: MOST_FILES + 1]:
                    async with self._lock:
                        document = self._documents.get(path)
                        if document is not None and path in self._known and path not in self._unchecked and self._pulls:
                            self._known[path] = await self._diagnose(document)
        finally:
            self._is_refreshing = False


def _section(settings: Mapping[str, Any], section: object) -> Any:
    """Return the part of the settings that a server asks for by a dotted name, an empty object without one."""
    value: Any = settings
    for name in section.split(".") if isinstance(section, str) else ():
        value = cast("JsonObject", value).get(name) if isinstance(value, dict) else None
    return {} if value is None else value
