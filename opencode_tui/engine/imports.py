"""What the engine expects of the extra that imports sessions of other programs."""

from typing import Protocol

from opencode_tui.schema.api.importing import ImportProgress, ImportReport, ImportRequest, ImportStore


class SessionImports(Protocol):
    """Imports sessions, one import at a time. Call all methods on the event loop's thread."""

    async def stores(self, request: ImportRequest | None = None, *, here: str) -> list[ImportStore]:
        """Return the stores of other programs with what is not here yet; with a request those that it names.

        Raises ConfigError for a path without a store.
        """
        ...

    async def run(self, request: ImportRequest, *, here: str) -> ImportReport:
        """Import, and return what was done. Raises ConfigError, StorageError, and BusyError while another import runs."""
        ...

    async def progress(self) -> ImportProgress | None:
        """Return how far the running import is; None when none runs."""
        ...

    async def cancel(self) -> bool:
        """End the running import after the session that it works on; return whether there is one."""
        ...
