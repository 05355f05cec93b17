"""Migration 1: the diffs leave the session's record for one of their own, `session_diff/{sessionID}`.

The session keeps the sums of added and removed lines, without a number of files. Source: reference, section 3.
"""

import json
from typing import cast

from opencode_tui.schema.error import CorruptRecordError, StorageError
from opencode_tui.schema.record import JsonObject
from opencode_tui.storage.atomic import AtomicWriter
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.keys import Key, record_path
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.reader import RecordReader


def split_diffs(paths: Paths, *, files: FileSystem, writer: AtomicWriter) -> list[str]:
    """Split every session that still carries diffs and return warnings; raises OSError or StorageError when the disk refuses."""
    root = str(paths.storage)
    reader = RecordReader(files, root)
    warnings: list[str] = []
    for key in reader.list(("session",)):
        if len(key) != 3:
            continue
        try:
            session = reader.read_object(key)
            diffs = _diffs_of(session)
            if diffs is not None:
                _split(session, diffs, key=key, root=root, reader=reader, writer=writer)
        except CorruptRecordError as error:
            warnings.append(f"a session keeps its diffs: {error}")
    return warnings


def _diffs_of(session: JsonObject) -> list[JsonObject] | None:
    summary: object = session.get("summary")
    if "projectID" not in session or not isinstance(summary, dict):
        return None
    diffs = cast(JsonObject, summary).get("diffs")
    if not isinstance(diffs, list):
        return None
    return [cast(JsonObject, diff) for diff in cast(list[object], diffs) if isinstance(diff, dict)]


def _split(
    session: JsonObject, diffs: list[JsonObject], *, key: Key, root: str, reader: RecordReader, writer: AtomicWriter
) -> None:
    """Write the diffs, read them back, and only then take them out of the session."""
    target = ("session_diff", key[-1])
    writer.write(record_path(root, target), _to_json(diffs))
    if json.loads(reader.read(target)) != diffs:
        raise StorageError(f"{record_path(root, target)} does not read back as it was written; check the disk")
    session["summary"] = {"additions": _sum(diffs, "additions"), "deletions": _sum(diffs, "deletions")}
    writer.write(record_path(root, key), _to_json(session))


def _sum(diffs: list[JsonObject], field: str) -> int:
    numbers: list[object] = [diff.get(field) for diff in diffs]
    return sum(number for number in numbers if isinstance(number, int))


def _to_json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
