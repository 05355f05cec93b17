"""What a folder's own files would start or loosen, seen whether or not it is trusted: the base of `opencode-tui trust`."""

from dataclasses import replace
from pathlib import Path

from opencode_tui.config.gate import RepositoryPlace
from opencode_tui.config.layer import read_layer
from opencode_tui.config.migrate import migrate
from opencode_tui.config.review import ReviewItem, review_extensions, review_settings
from opencode_tui.config.settings_folder import find_extensions, read_markdown
from opencode_tui.config.sources import find_worktree, list_repository_sources
from opencode_tui.config.trust import TrustStore, Verdict, check_trustable, judge
from opencode_tui.schema.error import TrustError
from opencode_tui.schema.value import immutable
from opencode_tui.storage.paths import Paths


@immutable
class Inspection:
    """The worktree that trust belongs to, and each of its items with the present verdict."""

    worktree: Path
    items: list[tuple[ReviewItem, Verdict]]


def inspect_folder(directory: Path, *, paths: Paths) -> Inspection:
    """Return what the repository's files from its root down to a folder would do.

    Raises TrustError for a folder that cannot be trusted, ConfigError for settings that cannot be read. Blocks.
    """
    if not directory.is_dir():
        raise TrustError(f"{directory} is not a folder; name the folder of a project")
    worktree = find_worktree(directory)
    check_trustable(worktree, paths.home)
    trusted = TrustStore(paths=paths).find(worktree)
    return Inspection(worktree, [(item, judge(trusted, item)) for item in _items(directory, worktree, paths.home)])


def _items(directory: Path, worktree: Path, home: Path) -> list[ReviewItem]:
    items: list[ReviewItem] = []
    for source in list_repository_sources(directory, worktree):
        if source.kind == "folder":
            layers = list(read_markdown(source.path, "repository"))
            found = list(find_extensions(source.path, "repository"))
            items += [item for item, _ in review_extensions(found, worktree)]
        else:
            layer = read_layer(source.path, "repository")
            layers = [layer] if layer is not None else []
        for layer in layers:
            place = RepositoryPlace(layer.folder, worktree, home)
            items.append(review_settings(replace(layer, value=migrate(layer.value)), place)[0])
    return items
