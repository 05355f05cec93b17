"""Stores that real OpenCode versions made, as text files: a store of 1.1.65, the database that 1.2.1 made of it, one of 1.18.33,
and stores of OpenCode 2's preview: alone, behind 1.18.33, and with undos, a waiting request and a killed turn.

    python -m tests.support.importing.fixtures DATA_FOLDER NAME PROJECT     # packs a store, its project's path replaced

`unpack` makes a data folder of OpenCode from one.
"""

import json
import sqlite3
import sys
from pathlib import Path

DATA = Path(__file__).parent / "data"
PROJECT = "/home/example/project"
"""The folder of the sessions in the packed stores."""

_TABLES = (
    "project",
    "session",
    "message",
    "part",
    "todo",
    "permission",
    "session_share",
    "session_message",
    "session_input",
    "credential",
)


def unpack(name: str, data: Path) -> Path:
    """Make the data folder of OpenCode `data` hold the store `opencode-NAME`; return it."""
    data.mkdir(parents=True, exist_ok=True)
    records = DATA / f"opencode-{name}.json"
    if records.exists():
        for path, content in json.loads(records.read_text()).items():
            target = data / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(json.dumps(content, indent=2, ensure_ascii=False))
        return data
    with sqlite3.connect(data / "opencode.db") as database:
        database.execute("PRAGMA journal_mode = wal")
        database.executescript((DATA / f"opencode-{name}.sql").read_text())
    database.close()
    return data


def pack(data: Path, name: str, project: str) -> None:
    """Write the store in a data folder of OpenCode as text, with another path of the project."""
    if (data / "opencode.db").exists():
        database = sqlite3.connect(f"file:{data / 'opencode.db'}?mode=ro", uri=True)
        lines = [line for line in database.iterdump() if _is_kept(line)]
        text = "\n".join(["BEGIN TRANSACTION;", *lines, "COMMIT;"]) + "\n"
        (DATA / f"opencode-{name}.sql").write_text(text.replace(project, PROJECT))
        return
    files = [*sorted((data / "storage").rglob("*.json")), data / "storage" / "migration"]
    records = {str(path.relative_to(data)): json.loads(path.read_text()) for path in files}
    text = json.dumps(records, indent=0, ensure_ascii=False)
    (DATA / f"opencode-{name}.json").write_text(text.replace(project, PROJECT) + "\n")


def _is_kept(line: str) -> bool:
    if line.startswith("CREATE INDEX"):
        return any(f" ON `{table}` " in line for table in _TABLES)
    return any(line.startswith((f"CREATE TABLE `{table}`", f'INSERT INTO "{table}"')) for table in _TABLES)


if __name__ == "__main__":
    pack(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
