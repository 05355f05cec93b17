"""The client of one folder, and the reader of events. The facets are in `facets/`."""

from collections.abc import AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from opencode_tui.client.facets.folder import (
        CatalogFacet,
        FilesFacet,
        LanguagesFacet,
        McpFacet,
        PermissionsFacet,
        ProjectFacet,
        QuestionsFacet,
        RulesFacet,
        ScreenFacet,
        SettingsFacet,
        SignInsFacet,
    )
    from opencode_tui.client.facets.inbox import InboxFacet
    from opencode_tui.client.facets.review import ReviewFacet
    from opencode_tui.client.facets.session import (
        BackgroundFacet,
        ContextFacet,
        ImportsFacet,
        MessagesFacet,
        PromptsFacet,
        SessionsFacet,
        SharingFacet,
        TrashFacet,
        UndoFacet,
    )
    from opencode_tui.schema.event.event import Envelope


class EventReader(Protocol):
    """All events of a folder since the reader was opened: iterate, or poll; leaving its context closes it."""

    def __enter__(self) -> "EventReader":
        """Return itself."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        ...

    def __aiter__(self) -> "AsyncIterator[Envelope]":
        """Return itself."""
        ...

    async def __anext__(self) -> "Envelope":
        """Wait for the next event."""
        ...

    def poll(self) -> "Envelope | None":
        """Return the next event if one is waiting, else None."""
        ...


class Client(Protocol):
    """The API for one folder: its facets, those of sessions first."""

    sessions: "SessionsFacet"
    trash: "TrashFacet"
    messages: "MessagesFacet"
    prompts: "PromptsFacet"
    context: "ContextFacet"
    background: "BackgroundFacet"
    undo: "UndoFacet"
    sharing: "SharingFacet"
    imports: "ImportsFacet"
    permissions: "PermissionsFacet"
    questions: "QuestionsFacet"
    rules: "RulesFacet"
    catalog: "CatalogFacet"
    settings: "SettingsFacet"
    sign_ins: "SignInsFacet"
    project: "ProjectFacet"
    review: "ReviewFacet"
    files: "FilesFacet"
    mcp: "McpFacet"
    languages: "LanguagesFacet"
    screen: "ScreenFacet"
    inbox: "InboxFacet"

    @property
    def directory(self) -> Path:
        """Return the folder, absolute, links resolved."""
        ...

    @property
    def ends_runs(self) -> bool:
        """Return whether the end of this process ends the runs: the engine is in it."""
        ...

    @property
    def terminals(self) -> int:
        """Return how many other terminals use the engine of this process."""
        ...

    @property
    def can_detach(self) -> bool:
        """Return whether the engine of this process can continue without a terminal, where others reach it."""
        ...

    def detach(self) -> None:
        """Let what runs, and the calls that wait for it, continue when the screen of this process ends; only where it can."""
        ...

    def events(self) -> EventReader:
        """Return a reader of this folder's events from now on."""
        ...

    async def reopen(self) -> None:
        """Open the folder again with its present settings, keys and trust. Raises BusyError while a session runs, ConfigError."""
        ...
