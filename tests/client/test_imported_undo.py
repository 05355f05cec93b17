"""Undo of a turn that OpenCode made: with its recorded states of files, and without them."""

import json
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.schema.api.importing import ImportRequest

SESSION, USER, ANSWER = (
    "ses_e0446447dffeQTfrk2qeGOeExt",
    "msg_1fbb9b4a80016MtL8DDIoO7sCV",
    "msg_1fbb9b4a90016MtL8DDIoO7sCV",
)


def git(folder: Path, *arguments: str, **variables: str) -> str:
    given = {"GIT_CONFIG_GLOBAL": "/dev/null", "PATH": "/usr/bin:/bin:/usr/local/bin", **variables}
    return subprocess.run(["git", *arguments], cwd=folder, env=given, check=True, capture_output=True, text=True).stdout


def track(data: Path, folder: Path) -> str:
    """Record the state of the folder as OpenCode does, and return its id."""
    store = data / "snapshot" / "p"
    variables = {"GIT_DIR": str(store), "GIT_WORK_TREE": str(folder)}
    if not store.exists():
        store.mkdir(parents=True)
        git(folder, "init", "-q", **variables)
    git(folder, "add", ".", **variables)
    return git(folder, "write-tree", **variables).strip()


@pytest.fixture
def opencode(api, tmp_path: Path) -> Path:
    """A store with one turn that changed `a.py` and `b/c.py` and made `new.py`, as the folder is now."""
    folder, data = api.project.path, tmp_path / "opencode"
    before = track(data, folder)
    api.project.write("a.py", "x = 2\n")
    api.project.write("b/c.py", b"import b\n\xff\xfe\r\n".decode("latin-1"))
    api.project.write("new.py", "new\n")
    after = track(data, folder)
    now = int(time.time() * 1000) - 60_000
    model = {"providerID": "fake", "modelID": "fake-model"}
    tokens = {"input": 1, "output": 1, "reasoning": 0, "cache": {"read": 0, "write": 0}}
    info = {"id": SESSION, "slug": "s", "version": "1.1.65", "projectID": "p", "directory": str(folder), "title": "T"}
    answer = {"role": "assistant", "parentID": USER, "mode": "build", "agent": "build", "cost": 0, "tokens": tokens}
    files = [str(folder / name) for name in ("a.py", "b/c.py", "new.py")]
    parts: list[dict[str, Any]] = [
        {"type": "step-start", "snapshot": before},
        {"type": "text", "text": "Done."},
        {"type": "step-finish", "reason": "stop", "cost": 0, "tokens": tokens, "snapshot": after},
        {"type": "patch", "hash": before, "files": files},
    ]
    records: dict[str, dict[str, Any]] = {
        f"session/p/{SESSION}": {**info, "time": {"created": now, "updated": now}},
        f"message/{SESSION}/{USER}": {
            **{
                "id": USER,
                "sessionID": SESSION,
                "role": "user",
                "agent": "build",
                "model": model,
                "time": {"created": now},
            }
        },
        f"message/{SESSION}/{ANSWER}": {
            **{
                "id": ANSWER,
                "sessionID": SESSION,
                **answer,
                "modelID": "fake-model",
                "providerID": "fake",
                "finish": "stop",
            },
            **{"path": {"cwd": str(folder), "root": str(folder)}, "time": {"created": now + 1, "completed": now + 2}},
        },
        f"part/{USER}/prt_1fbb9b4a80016MtL8DDIoO7sCA": {
            **{
                "id": "prt_1fbb9b4a80016MtL8DDIoO7sCA",
                "sessionID": SESSION,
                "messageID": USER,
                "type": "text",
                "text": "go",
            }
        },
    }
    for number, part in enumerate(parts):
        name = f"prt_1fbb9b4a9{number:03d}6MtL8DDIoO7sCA"
        records[f"part/{ANSWER}/{name}"] = {"id": name, "sessionID": SESSION, "messageID": ANSWER, **part}
    for key, record in records.items():
        path = data / "storage" / f"{key}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record))
    (data / "storage" / "migration").write_text("2")
    return data


@pytest.mark.slow
async def test_a_turn_is_undone_with_the_states_that_opencode_recorded(api, opencode: Path):
    await api.client.imports.run(ImportRequest(path=str(opencode)))
    preview = await api.client.undo.preview(SESSION)
    assert [Path(file.path).name for file in preview.restored] == ["a.py", "c.py"]
    report = await api.client.undo.revert(SESSION)
    assert [Path(file.path).name for file in report.restored] == ["a.py", "c.py"]
    assert (api.project.path / "a.py").read_bytes() == b"x = 1\n"
    assert (api.project.path / "b" / "c.py").read_bytes() == b"import a\n"
    assert (api.project.path / "new.py").read_bytes() == b"new\n"  # a plain tree is no proof that it was absent
    assert [Path(file.path).name for file in report.unprotected] == ["new.py"]


async def test_a_turn_whose_states_are_gone_is_reported_and_changes_no_file(api, opencode: Path):
    shutil.rmtree(opencode / "snapshot")
    await api.client.imports.run(ImportRequest(path=str(opencode)))
    report = await api.client.undo.revert(SESSION)
    assert (report.restored, report.deleted) == ([], [])
    assert len(report.unprotected) == 3
    assert all("not available here" in str(file.reason) for file in report.unprotected)
    assert (api.project.path / "a.py").read_bytes() == b"x = 2\n"


async def test_the_states_are_kept_when_opencode_deletes_them_later(api, opencode: Path):
    await api.client.imports.run(ImportRequest(path=str(opencode)))
    shutil.rmtree(opencode / "snapshot")
    [record] = (opencode / "storage" / "session" / "p").glob("*.json")
    info = json.loads(record.read_text())
    info["time"]["updated"] += 1000
    record.write_text(json.dumps(info))
    assert (await api.client.imports.run(ImportRequest(path=str(opencode)))).newer == 1
    preview = await api.client.undo.preview(SESSION)
    assert [Path(file.path).name for file in preview.restored] == ["a.py", "c.py"]
