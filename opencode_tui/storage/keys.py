"""Keys of records: tuples of safe segments, and the files that hold them.

`("session", project, session)` is the file `storage/session/{project}/{session}.json`. No key can name a file outside the store.
"""

import re

from opencode_tui.schema.error import StorageError

Key = tuple[str, ...]
"""Path segments of a record, the last one without `.json`; or, as a prefix, of a folder."""

SUFFIX = ".json"
_SEGMENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}")


def is_segment(text: str) -> bool:
    """Return whether a text is valid as a segment of a key."""
    return _SEGMENT.fullmatch(text) is not None and ".." not in text


def check_key(key: Key) -> Key:
    """Return the key; raises StorageError when it is empty or a segment could leave the store."""
    if not key:
        raise StorageError("a record's key needs at least one segment")
    for segment in key:
        if not is_segment(segment):
            raise StorageError(
                f"{segment!r} is not a valid name of a record; use letters, digits, '_', '-' and '.', not '-' or '.' first"
            )
    return key


def record_path(root: str, key: Key) -> str:
    """Return the path of a record in the folder `root`; raises StorageError for an unsafe key."""
    return f"{root}/{'/'.join(check_key(key))}{SUFFIX}"


def folder_path(root: str, prefix: Key) -> str:
    """Return the folder of all records with a prefix; the empty prefix is the whole store."""
    return f"{root}/{'/'.join(check_key(prefix))}" if prefix else root


def segment_of(file_name: str) -> str | None:
    """Return a key's last segment for a file's name, None when the file is not a record (temporary, foreign)."""
    if not file_name.endswith(SUFFIX):
        return None
    segment = file_name[: -len(SUFFIX)]
    return segment if is_segment(segment) else None
