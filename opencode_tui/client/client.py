"""What faces may ask of the engine, in facets of a few methods each; arguments and results are shapes of `schema`.

A facet's method raises the OpencodeError that stands for what went wrong. The same Protocols hold for a client over HTTP.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import Protocol

from opencode_tui.client.context_facet import ContextFacet
from opencode_tui.client.folder_facets import (
    CatalogFacet,
    FilesFacet,
    ProjectFacet,
    RulesFacet,
    ScreenFacet,
    SettingsFacet,
)
from opencode_tui.client.session_facets import (
    MessagesFacet,
    PermissionsFacet,
    PromptsFacet,
    QuestionsFacet,
    SessionsFacet,
)
from opencode_tui.client.undo_facet import UndoFacet
from opencode_tui.schema.event import Envelope


class EventReader(Protocol):
    """All events of a folder from the moment it was opened on: iterate, or poll; leaving its context closes it."""

    def __enter__(self) -> "EventReader":
        """Return itself."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        ...

    def __aiter__(self) -> AsyncIterator[Envelope]:
        """Return itself."""
        ...

    async def __anext__(self) -> Envelope:
        """Wait for the next event."""
        ...

    def poll(self) -> Envelope | None:
        """Return the next event that already waits, or None."""
        ...


class Client(Protocol):
    """The door for one folder."""

    @property
    def directory(self) -> Path:
        """The folder, absolute, links resolved."""
        ...

    @property
    def sessions(self) -> SessionsFacet:
        """The project's sessions."""
        ...

    @property
    def messages(self) -> MessagesFacet:
        """Their messages."""
        ...

    @property
    def prompts(self) -> PromptsFacet:
        """Their conversations."""
        ...

    @property
    def context(self) -> ContextFacet:
        """What the model is given of them."""
        ...

    @property
    def undo(self) -> UndoFacet:
        """Undo in them."""
        ...

    @property
    def permissions(self) -> PermissionsFacet:
        """Open questions."""
        ...

    @property
    def rules(self) -> RulesFacet:
        """What may be done."""
        ...

    @property
    def questions(self) -> QuestionsFacet:
        """Open questions of tools."""
        ...

    @property
    def catalog(self) -> CatalogFacet:
        """Models and agents."""
        ...

    @property
    def settings(self) -> SettingsFacet:
        """Settings."""
        ...

    @property
    def files(self) -> FilesFacet:
        """The work tree's files."""
        ...

    @property
    def screen(self) -> ScreenFacet:
        """The open screens."""
        ...

    @property
    def project(self) -> ProjectFacet:
        """The project."""
        ...

    def events(self) -> EventReader:
        """Return a reader of all events of this folder from the moment of the call on."""
        ...

    async def reopen(self) -> None:
        """Open the folder anew, with the settings, keys and trust that it has now. Raises BusyError while it works, ConfigError."""
        ...


class Clients(Protocol):
    """The doors for all folders of one engine, for a face that serves several."""

    async def at(self, directory: str | None = None) -> Client:
        """Return the door for a folder, without one that of the process; raises ConfigError when it cannot be opened."""
        ...

    async def dispose(self, directory: str | None = None) -> None:
        """Close a folder; its next use opens it with the settings and keys that it then has. Raises BusyError while it works."""
        ...

    async def dispose_all(self) -> None:
        """Close every folder in which nothing runs; raises BusyError afterwards when something ran in one."""
        ...

    def events(self) -> EventReader:
        """Return a reader of the events of all folders from the moment of the call on."""
        ...

    async def end_runs(self) -> None:
        """Interrupt everything that runs; returns when its records are closed, or after a grace period."""
        ...
