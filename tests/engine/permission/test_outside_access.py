"""Claims about paths outside the project: reading and writing are different questions, counted and allowed apart."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.permission.decision import Query, is_granted
from opencode_tui.engine.permission.grants import Grant, Grants
from opencode_tui.engine.permission.memory import SUGGEST_AFTER, PermissionMemory
from opencode_tui.engine.permission.policy import AskPerson
from opencode_tui.engine.permission.service import PermissionService
from opencode_tui.schema.ids import Identifier
from opencode_tui.schema.permission import ALLOWED_BEFORE, PermissionRequest
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.storage import Storage
from opencode_tui.text.grants import scope_words
from opencode_tui.text.permission import suggestion_of, title_of
from tests.engine.permission.conftest import ASKING, NOW
from tests.support.rows import each
from tests.support.world.waiting import until

FOLDER = "/home/u/other"


def query(access: str, name: str = "a.txt", *, folder: str = FOLDER) -> Query:
    """Return the question of a file tool about a file outside."""
    pattern = f"{folder}/*"
    return Query(
        session_id="ses_1",
        permission="external_directory",
        patterns=[pattern],
        always=[pattern],
        metadata={"filepath": f"{folder}/{name}", "parentDir": folder, "access": access},
        subject=access,
        forms={pattern: (f"{folder}/{name}",)},
    )


def grant(pattern: str, access: str = "") -> Grant:
    metadata = {"subject": access} if access else {}
    return Grant(permission="external_directory", pattern=pattern, action="allow", metadata=metadata)


@each(
    ("pattern", "given", "access", "is_covered"),
    [
        (f"{FOLDER}/*", "read", "read", True),
        (f"{FOLDER}/*", "read", "write", False),
        (f"{FOLDER}/*", "write", "read", False),
        (f"{FOLDER}/*", "write", "write", True),
        (f"{FOLDER}/*", "", "read", True),
        (f"{FOLDER}/*", "", "write", True),
        (f"{FOLDER}/a.txt", "read", "read", True),
        (f"{FOLDER}/a.txt", "read", "write", False),
        (f"{FOLDER}/b.txt", "read", "read", False),
        ("/home/u/*", "read", "read", True),
        ("/home/u/*", "read", "write", False),
    ],
)
def test_a_grant_covers_the_use_that_it_was_given_for(pattern: str, given: str, access: str, is_covered: bool) -> None:
    assert is_granted(query(access), f"{FOLDER}/*", [grant(pattern, given)]) == is_covered


async def test_both_can_be_granted_for_one_folder(open_grants: Callable[..., Grants]) -> None:
    grants = open_grants()
    for access in ("read", "write", "read"):
        await grants.add("external_directory", [f"{FOLDER}/*"], subject=access)
    assert [one.subject for one in await grants.listed()] == ["read", "write"]
    await grants.revoke("external_directory", f"{FOLDER}/*")
    assert await grants.listed() == []


@pytest.fixture
async def asked(open_grants: Callable[..., Grants], paths: Paths, tmp_path: Path) -> Any:
    """Return a function that asks, answers `once`, and returns the question."""
    storage, events, grants = Storage(paths), list[Any](), open_grants()
    async with asyncio.TaskGroup() as group:
        memory = PermissionMemory(
            store=storage,
            lock=Locks(paths).store,
            project_id="global",
            worktree=tmp_path,
            clock=lambda: NOW,
            start=group.create_task,
        )
        service = PermissionService(
            publish=events.append, identifier=Identifier(lambda: NOW), grants=grants, memory=Lazy(lambda: memory)
        )

        async def ask(one: Query) -> PermissionRequest:
            waiting = asyncio.create_task(service.ask(one, layers=ASKING, policy=AskPerson()))
            await until(lambda: bool(service.pending()))
            (request,) = service.pending()
            await service.reply(request.id, "once")
            await waiting
            return request

        yield ask
    await storage.close()


async def test_answers_are_counted_for_the_same_file_and_the_same_use(asked: Any) -> None:
    mixed = [
        query("read"),
        query("write"),
        query("read", "b.txt"),
        query("write"),
        query("read"),
        query("read", "b.txt"),
    ]
    assert [ALLOWED_BEFORE in (await asked(one)).metadata for one in mixed] == [False] * len(mixed)
    assert (await asked(query("read"))).metadata.get(ALLOWED_BEFORE) is None
    suggested = await asked(query("read"))
    assert suggested.metadata[ALLOWED_BEFORE] == SUGGEST_AFTER
    assert suggested.always == [f"{FOLDER}/a.txt"]
    assert suggestion_of(suggested) == "You have allowed reading it 3 times: always allow reading this file?"
    assert (await asked(query("read", "c.txt"))).always == [f"{FOLDER}/*"]


@each(
    ("metadata", "title"),
    [
        ({"filepath": "/o/a", "parentDir": "/o", "access": "read"}, "Read a file outside the project?"),
        ({"filepath": "/o/a", "parentDir": "/o", "access": "write"}, "Write a file outside the project?"),
        ({"filepath": "/o", "parentDir": "/o", "access": "read"}, "Read a folder outside the project?"),
        ({"filepath": "/o/a", "parentDir": "/o"}, "Access a file outside the project?"),
    ],
)
def test_the_question_says_what_is_done(metadata: dict[str, Any], title: str) -> None:
    request = PermissionRequest(
        id="per_1", session_id="ses_1", permission="external_directory", patterns=["/o/*"], metadata=metadata, always=[]
    )
    assert title_of(request) == title


def test_a_listed_grant_says_what_it_allows() -> None:
    from opencode_tui.schema.api.grants import StoredGrant

    words = {
        access: scope_words(
            StoredGrant(permission="external_directory", pattern="/o/*", action="allow", is_on=True, access=access)
        )
        for access in ("read", "write", "any", None)
    }
    assert words == {"read": "reading", "write": "writing", "any": "reading and writing", None: ""}
