"""Reports of what a folder's config would start or loosen, for `opencode-tui trust`.

Trust is granted in two steps: a report, then a grant for exactly the reported content.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.config.flags import Flags
from opencode_tui.config.load import load_config
from opencode_tui.config.sources.folder import find_extensions, read_markdown
from opencode_tui.config.sources.layer import read_repository_file
from opencode_tui.config.sources.locations import find_worktree, list_repository_sources
from opencode_tui.config.sources.migrate import migrate
from opencode_tui.config.trust.gate import RepositoryFolder
from opencode_tui.config.trust.review import ReviewItem, review_extensions, review_settings
from opencode_tui.config.trust.store import TrustStore, Verdict, check_trustable, judge
from opencode_tui.schema.api.trust import TrustItem, TrustReport
from opencode_tui.schema.error import TrustError
from opencode_tui.storage.paths import Paths


class Inspection(Struct, frozen=True):
    """A worktree, and each of its items with the current verdict."""

    worktree: Path
    items: list[tuple[ReviewItem, Verdict]]


def inspect_folder(directory: Path, *, paths: Paths) -> Inspection:
    """Return what the repository's files from its root down to a folder would do.

    A file that cannot be read has no effects, and is named when settings are loaded. Raises TrustError for a folder that cannot be
    trusted. Blocks.
    """
    if not directory.is_dir():
        raise TrustError(f"{directory} is not a folder; give the folder of a project")
    worktree = find_worktree(directory)
    check_trustable(worktree, paths.home)
    trusted = TrustStore(paths=paths).find(worktree)
    return Inspection(worktree, [(item, judge(trusted, item)) for item in _items(directory, worktree, paths.home)])


def _items(directory: Path, worktree: Path, home: Path) -> list[ReviewItem]:
    items: list[ReviewItem] = []
    for source in list_repository_sources(directory, worktree):
        if source.kind == "folder":
            layers = list(read_markdown(source.path, "repository", root=worktree))
            found, _ = find_extensions(source.path, "repository", root=worktree)
            items += [item for item, _ in review_extensions(found, worktree)]
        else:
            layers = read_repository_file(source.path)
        for layer in layers:
            place = RepositoryFolder(layer.folder, worktree, home)
            items.append(review_settings(replace(layer, value=migrate(layer.value)), place)[0])
    return items


def report_trust(directory: Path, *, paths: Paths, flags: Flags, environ: Mapping[str, str]) -> TrustReport:
    """Return what needs trust in a folder. Raises TrustError, ConfigError. Blocks."""
    inspection = inspect_folder(directory, paths=paths)
    _, seen = _read([item for item, _ in inspection.items])
    waiting: set[tuple[str, str]] = set()
    if any(item.conditional and verdict != "trusted" for item, verdict in inspection.items):
        loaded = load_config(paths=paths, flags=flags, directory=directory, environ=environ)
        waiting = {(notice.source, notice.key) for notice in loaded.ignored}
    items: list[TrustItem] = []
    for item, verdict in inspection.items:
        over = [effect for key, effect in item.conditional if (str(item.path), key) in waiting]
        if item.effects or over:
            items.append(TrustItem(name=item.name, effects=[*item.effects, *over], verdict=verdict))
    return TrustReport(worktree=str(inspection.worktree), seen=seen, items=items)


def grant_seen(directory: Path, seen: str, *, paths: Paths) -> None:
    """Trust the content of a report. Raises TrustError, also when the content changed since. Blocks."""
    inspection = inspect_folder(directory, paths=paths)
    read, now = _read([item for item, _ in inspection.items])
    if now != seen:
        raise TrustError(f"the config of {inspection.worktree} changed since it was listed; review it again")
    TrustStore(paths=paths).grant(inspection.worktree, read)


def _read(items: list[ReviewItem]) -> tuple[list[ReviewItem], str]:
    """Return the items with their current fingerprints, and one fingerprint for all of them."""
    prints = [item.fingerprint() for item in items]
    described = json.dumps([[item.name, *item.effects, one] for item, one in zip(items, prints, strict=True)])
    fixed = [_fixed(item, one) for item, one in zip(items, prints, strict=True)]
    return fixed, hashlib.sha256(described.encode()).hexdigest()


def _fixed(item: ReviewItem, value: str | None) -> ReviewItem:
    return replace(item, fingerprint=lambda: value)
