"""What the readers of OpenCode's stores share: JSON folders, databases and exported files hold the same records."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar, cast

from opencode_tui.extras.importing.source import FoundSession, Problem, Problems, SnapshotStore
from opencode_tui.schema.record import Record, ValidationError
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.storage.keys import is_segment
from opencode_tui.storage.session_record import describe_mismatch

Item = TypeVar("Item", bound=Record)


def found_session(info: SessionInfo, path: str) -> FoundSession:
    """Return the entry of a list for a session of OpenCode, whose id is kept."""
    return FoundSession(
        id=info.id,
        session_id=info.id,
        directory=info.directory,
        title=info.title,
        created=info.time.created,
        updated=info.time.updated,
        path=path,
        version=info.version,
        parent=info.parent_id or "",
    )


def parents_first(found: Mapping[str, FoundSession]) -> Iterator[FoundSession]:
    """Yield all of them by creation, a parent before its children; a loop of parents is cut."""
    yielded: set[str] = set()
    for one in sorted(found.values(), key=lambda session: (session.created, session.id)):
        line: list[FoundSession] = []
        at: FoundSession | None = one
        while at is not None and at.id not in yielded:
            yielded.add(at.id)
            line.append(at)
            at = found.get(at.parent)
        yield from reversed(line)


def read_items(value: object, model: type[Item], *, path: str, line: str, problems: Problems) -> Sequence[Item]:
    """Return the records of a JSON array; one that is not valid is left out and listed."""
    items: list[Item] = []
    for item in cast("list[object]", value) if isinstance(value, list) else []:
        try:
            items.append(model.model_validate(item))
        except ValidationError as error:
            problems.append(Problem(path, line, describe_mismatch(error)))
    return items


def snapshot_stores(data: Path, project_id: str) -> list[SnapshotStore]:
    """Return the git folders in which OpenCode keeps the snapshots of a project: one up to 1.2, then one per work tree."""
    if not is_segment(project_id):
        return []
    top = data / "snapshot" / project_id
    try:
        folders = [top, *sorted(path for path in top.iterdir() if path.is_dir())]
    except OSError:
        return []
    return [
        SnapshotStore(folder) for folder in folders if (folder / "objects").is_dir() and (folder / "HEAD").is_file()
    ]
