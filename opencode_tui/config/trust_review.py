"""Trust in two steps for a face: first what there is to see, then a yes that holds for exactly that."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

from opencode_tui.config.inspection import inspect_folder
from opencode_tui.config.review import ReviewItem
from opencode_tui.config.trust import TrustStore
from opencode_tui.schema.error import TrustError
from opencode_tui.schema.trust import TrustItem, TrustReport
from opencode_tui.storage.paths import Paths


def report_trust(directory: Path, *, paths: Paths) -> TrustReport:
    """Return what needs trust in a folder. Raises TrustError, ConfigError. Blocks."""
    inspection = inspect_folder(directory, paths=paths)
    _, seen = _read([item for item, _ in inspection.items])
    items = [
        TrustItem(name=item.name, effects=list(item.effects), verdict=verdict)
        for item, verdict in inspection.items
        if item.effects
    ]
    return TrustReport(worktree=str(inspection.worktree), seen=seen, items=items)


def grant_seen(directory: Path, seen: str, *, paths: Paths) -> None:
    """Trust the content that a report was about. Raises TrustError, also when it is another one by now. Blocks."""
    inspection = inspect_folder(directory, paths=paths)
    read, now = _read([item for item, _ in inspection.items])
    if now != seen:
        raise TrustError(f"changed since they were listed: what {inspection.worktree} would start; look at it again")
    TrustStore(paths=paths).grant(inspection.worktree, read)


def _read(items: list[ReviewItem]) -> tuple[list[ReviewItem], str]:
    """Return the items with the fingerprints that they have now, and one for all of them."""
    prints = [item.take_fingerprint() for item in items]
    told = json.dumps([[item.name, *item.effects, taken] for item, taken in zip(items, prints, strict=True)])
    fixed = [_fixed(item, taken) for item, taken in zip(items, prints, strict=True)]
    return fixed, hashlib.sha256(told.encode()).hexdigest()


def _fixed(item: ReviewItem, taken: str | None) -> ReviewItem:
    return replace(item, take_fingerprint=lambda: taken)
