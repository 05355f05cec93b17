"""Sessions with subagent sessions and everything that belongs to them, and where their files are."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.storage.files import temporary_owner
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.trash import MANIFEST, RECORDS
from tests.support.sessions.records import assistant, new_id, session_info, text, user, write_records

ROOT = "ses_00000000000root"


@dataclass(frozen=True)
class Family:
    """A session with those below it, the session first, and the bytes of all their files by their path in the store."""

    infos: tuple[SessionInfo, ...]
    files: Mapping[str, bytes]


def write_family(
    paths: Paths,
    *,
    parents: tuple[int, ...] = (0, 1),
    messages: int = 3,
    directory: str = "/p",
    root: str = ROOT,
    project: str = "global",
) -> Family:
    """Write a session and one below each number in `parents`: the index of its parent."""
    before = files_in(paths.storage)
    fields: dict[str, Any] = {"directory": directory, "project_id": project}
    infos = [session_info(root, title="the root", created=5, updated=7, **fields)]
    for number, parent in enumerate(parents, start=1):
        infos.append(session_info(f"{root}{number}", parent_id=infos[parent].id, title="a child", **fields))
    for info in infos:
        request = user("please", text("see \N{SNOWMAN}"), id=new_id("msg"), session_id=info.id)
        answers = [assistant("done", parent=request, session_id=info.id) for _ in range(messages - 1)]
        write_records(paths, info, [request, *answers])
        for kind, data in (("todo", b"[]"), ("session_diff", b"[ ]"), ("share", b'{"secret": "s"}')):
            _write(paths.storage / kind / f"{info.id}.json", data)
    after = files_in(paths.storage)
    return Family(tuple(infos), {name: data for name, data in after.items() if name not in before})


def files_in(folder: Path) -> dict[str, bytes]:
    """Return the bytes of all files below a folder by their path, without those that a killed write has left."""
    found = [path for path in folder.rglob("*") if path.is_file() and temporary_owner(path.name) is None]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def trashed_files(paths: Paths) -> dict[str, dict[str, bytes]]:
    """Return the files of each folder of the trash by its name, without those that describe it."""
    folders = sorted(paths.trash.iterdir()) if paths.trash.exists() else []
    return {
        folder.name: {name: data for name, data in files_in(folder).items() if name not in (MANIFEST, RECORDS)}
        for folder in folders
    }


def misplaced(paths: Paths, family: Family, others: Mapping[str, bytes]) -> str | None:
    """Return what is wrong unless all files are either in the store or in one folder of the trash; None when all is well."""
    stored, trashed = files_in(paths.storage), trashed_files(paths)
    whole = {**others, **family.files}
    if stored == whole and trashed == {}:
        return None
    if stored == dict(others) and list(trashed.values()) == [dict(family.files)] and "." not in next(iter(trashed)):
        return None
    lost = [name for name in whole if name not in stored and all(name not in files for files in trashed.values())]
    return f"store {len(stored)} of {len(whole)}, trash { {name: len(files) for name, files in trashed.items()} }, lost {lost}"


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
