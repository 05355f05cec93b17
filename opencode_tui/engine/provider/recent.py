"""The recently used models, `<state>/model.json`, latest first. Source: docs/internals/loop.md#titles.

An unreadable file counts as empty; a failed write is only logged.
"""

import json
import logging
from pathlib import Path

from opencode_tui.engine.provider.decode.response import as_list, as_text
from opencode_tui.schema.json_text import as_object
from opencode_tui.schema.model import ModelRef
from opencode_tui.storage.files import AtomicWriter, FileSystem

logger = logging.getLogger(__name__)

KEPT = 10


class RecentModels:
    """Reads and writes the list. Blocks for a file of a few hundred bytes."""

    def __init__(self, *, state: Path) -> None:
        self._path = state / "model.json"

    def last(self) -> ModelRef | None:
        """Return the last used model."""
        return next(iter(self._read()), None)

    def remember(self, ref: ModelRef) -> None:
        """Move a model to the front; does not write if it is already there."""
        known = self._read()
        if known and known[0] == ref:
            return
        recent = [ref, *(other for other in known if other != ref)][:KEPT]
        data = json.dumps({"recent": [item.to_dict() for item in recent]}, indent=2).encode()
        try:
            AtomicWriter(FileSystem()).write(str(self._path), data)
        except OSError as error:
            logger.warning("cannot store the last used model in %s: %s", self._path, error.strerror)

    def _read(self) -> list[ModelRef]:
        try:
            stored = as_object(json.loads(self._path.read_bytes()))
        except (OSError, ValueError):
            return []
        found = [as_object(item) for item in as_list(stored.get("recent"))]
        pairs = [(as_text(item.get("providerID")), as_text(item.get("modelID"))) for item in found]
        return [ModelRef(provider_id=provider, model_id=model) for provider, model in pairs if provider and model]
