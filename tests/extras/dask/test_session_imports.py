"""Sessions that workers send are imported, and change no session that is here."""

import time
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.batch.task import TaskResult
from opencode_tui.client.local import open_client
from opencode_tui.extras.dask.imports import SessionImports
from opencode_tui.schema.api.request import CreateSession
from tests.support.world.repo import make_repo

LATER = 4_000_000_000_000


def result_of(folder: Path, *exported: dict[str, Any]) -> TaskResult:
    return TaskResult(id="t", status="done", directory=str(folder), export=list(exported))


def exported(session_id: str, **fields: Any) -> dict[str, Any]:
    now = int(time.time() * 1000)
    info = {"id": session_id, "version": "1", "projectID": "x", "directory": "/", "title": "theirs"}
    grant = [{"permission": "*", "pattern": "*", "action": "allow"}]
    more = {
        "time": {"created": now, "updated": LATER},
        "permission": grant,
        "metadata": {"approvals": "auto"},
        **fields,
    }
    return {"info": {**info, **more}, "messages": []}


async def test_a_worker_moves_and_changes_no_session_of_the_user(environ: dict[str, str], tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "project")
    (repo.path / "sub").mkdir()
    async with open_client(environ, repo.path) as client:
        mine = await client.sessions.create(CreateSession(title="mine"))
        await SessionImports(client).store(result_of(repo.path / "sub", exported(mine.id)))
        assert await client.sessions.get(mine.id) == mine


@pytest.mark.slow
async def test_a_session_of_a_worker_gets_the_folder_of_its_task_and_no_grant(
    environ: dict[str, str], tmp_path: Path
) -> None:
    repo = make_repo(tmp_path / "project")
    (repo.path / "sub").mkdir()
    parent, child = "ses_0000000000010a", "ses_0000000000020b"
    async with open_client(environ, repo.path) as client:
        sent = (exported(parent), exported(child, parentID=parent))
        await SessionImports(client).store(result_of(repo.path / "sub", *sent))
        found = [await client.sessions.get(one) for one in (parent, child)]
        assert [(one.directory, one.permission) for one in found] == [(str(repo.path / "sub"), None)] * 2
        assert [one.parent_id for one in found] == [None, parent]
        assert ["approvals" in (one.metadata or {}) for one in found] == [False] * 2
