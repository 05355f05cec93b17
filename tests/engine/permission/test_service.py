"""Claims about asking and answering: docs/internals/permissions.md#requests."""

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.engine.permission.decision import Query
from opencode_tui.engine.permission.defaults import rule
from opencode_tui.engine.permission.grants import Grants
from opencode_tui.engine.permission.policy import AskPerson, AutoApprove, RefuseQuestions
from opencode_tui.engine.permission.service import CallPermission, PermissionService
from opencode_tui.schema.error import (
    ApprovalUnavailableError,
    ConfigError,
    DeniedError,
    OutsideRefusedError,
    PermissionRefused,
    RejectedError,
    StorageError,
)
from opencode_tui.schema.event.event import PermissionAsked, PermissionReplied
from opencode_tui.schema.ids import Identifier
from opencode_tui.schema.permission import Ruleset
from tests.engine.permission.conftest import ASKING, CALL, NOW, World
from tests.support.world.rules import rules
from tests.support.world.waiting import PATIENCE_S


async def asked(world: World, *patterns: str, **more: Any) -> tuple[asyncio.Task[bool], str]:
    """Start a call that asks, and return it with the id of its question once that is open."""
    before = len(world.service.pending())
    task = asyncio.create_task(world.ask(*patterns, **more))
    async with asyncio.timeout(PATIENCE_S):
        while len(world.service.pending()) == before:
            await asyncio.sleep(0.001)
    return task, world.service.pending()[-1].id


async def test_what_is_allowed_passes_unasked(world: World) -> None:
    await world.ask("ls", "pwd", "git status", layers=[rules("bash * allow")])
    assert world.events == []


async def test_one_denied_pattern_denies_the_call_and_lists_the_rules(world: World) -> None:
    ruleset = rules("edit * ask", "bash * ask", "bash rm* deny")
    with pytest.raises(DeniedError) as caught:
        await world.ask("echo hello", "rm -rf /", layers=[ruleset])
    assert caught.value.rules == rules("bash * ask", "bash rm* deny")
    assert "'rm -rf /'" in str(caught.value)
    assert world.events == []


async def test_a_denial_names_each_pattern_once_as_the_last_rule_has_it(world: World) -> None:
    ruleset = rules("bash * allow", "bash rm* allow", "bash * deny", "bash ls allow", "bash * deny", "bash ls allow")
    with pytest.raises(DeniedError, match=r"Rules for bash: rm\*: allow, \*: deny, ls: allow$"):
        await world.ask("rm x", layers=[ruleset])


async def test_a_question_carries_the_whole_request(world: World) -> None:
    task, request_id = await asked(world, "a b", "c", always=["a *"], metadata={"k": 1})
    [event] = world.events
    assert isinstance(event, PermissionAsked)
    assert event.to_dict() == {
        "type": "permission.asked",
        "id": request_id,
        "sessionID": "ses_1",
        "permission": "bash",
        "patterns": ["a b", "c"],
        "metadata": {"k": 1},
        "always": ["a *"],
        "tool": {"messageID": "msg_1", "callID": "call_1"},
    }
    await world.service.reply(request_id, "once")
    await task


async def test_once_answers_that_question_alone(world: World) -> None:
    first, one = await asked(world, "ls", always=["ls *"])
    second, two = await asked(world, "ls", always=["ls *"])
    assert await world.service.reply(one, "once")
    await first
    assert [request.id for request in world.service.pending()] == [two]
    await world.service.reply(two, "once")
    await second
    assert await world.grants.listed() == []


async def test_the_first_reply_wins(world: World) -> None:
    task, request_id = await asked(world, "ls")
    replies = [await world.service.reply(request_id, reply) for reply in ("once", "reject", "always")]
    await task
    assert replies == [True, False, False]
    assert world.told() == [("permission.asked", "ls"), ("permission.replied", "once")]


async def test_an_unknown_question_cannot_be_answered(world: World) -> None:
    assert await world.service.reply("per_unknown", "once") is False
    assert world.events == []


async def test_always_holds_for_later_calls_of_every_session(world: World) -> None:
    task, request_id = await asked(world, "git push", always=["git *"])
    await world.service.reply(request_id, "always")
    await task
    await world.ask("git pull", session="ses_2")
    assert world.told() == [("permission.asked", "git push"), ("permission.replied", "always")]


async def test_always_allows_the_pending_requests_that_it_covers(world: World) -> None:
    covered = [await asked(world, "ls", "ls -l", session=name, always=["ls *"]) for name in ("ses_1", "ses_2")]
    other, last = await asked(world, "ls", "rm x")
    await world.service.reply(covered[0][1], "always")
    await asyncio.gather(*(task for task, _ in covered))
    assert [request.id for request in world.service.pending()] == [last]
    assert [event.reply for event in world.events if isinstance(event, PermissionReplied)] == ["always", "always"]
    await world.service.reply(last, "once")
    await other


async def test_a_grant_never_lifts_a_denial(world: World) -> None:
    await world.grants.add("bash", ["*"])
    with pytest.raises(DeniedError):
        await world.ask("rm x", layers=[rules("bash rm* deny")])


async def test_a_grant_for_another_definition_of_a_tool_asks_again_and_says_so(world: World) -> None:
    task, request_id = await asked(world, "*", permission="db_query", always=["*"], subject="first")
    await world.service.reply(request_id, "always")
    await task
    await world.ask("*", permission="db_query", subject="first")
    task, request_id = await asked(world, "*", permission="db_query", always=["*"], subject="second")
    (request,) = world.service.pending()
    assert "changed since you always allowed it" in request.metadata["reasons"][0]
    await world.service.reply(request_id, "always")
    await task
    await world.ask("*", permission="db_query", subject="second")
    (grant,) = await world.grants.listed()
    assert (grant.permission, grant.subject) == ("db_query", "second")


async def test_a_grant_from_before_definitions_were_compared_holds(world: World) -> None:
    await world.grants.add("db_query", ["*"])
    await world.ask("*", permission="db_query", subject="first")
    assert world.events == []


async def test_a_revoked_grant_asks_again(world: World) -> None:
    await world.grants.add("bash", ["ls *"])
    await world.ask("ls")
    await world.grants.revoke("bash", "ls *")
    with pytest.raises(ApprovalUnavailableError):
        await world.ask("ls", policy=RefuseQuestions())


async def test_a_rejection_closes_the_sessions_other_questions(world: World) -> None:
    first, first_id = await asked(world, "a")
    second, _ = await asked(world, "b")
    other, other_id = await asked(world, "c", session="ses_2")
    await world.service.reply(first_id, "reject")
    results = await asyncio.gather(first, second, return_exceptions=True)
    assert [(type(result), getattr(result, "feedback", "")) for result in results] == [(RejectedError, None)] * 2
    assert [request.id for request in world.service.pending()] == [other_id]
    await world.service.reply(other_id, "once")
    await other


async def test_a_rejection_with_a_message_reaches_all_calls(world: World) -> None:
    first, first_id = await asked(world, "a")
    second, _ = await asked(world, "b")
    await world.service.reply(first_id, "reject", "use make instead")
    results = await asyncio.gather(first, second, return_exceptions=True)
    assert [str(result) for result in results] == ["The user rejected permission and said: use make instead"] * 2


async def test_a_cancelled_call_takes_its_question_along(world: World) -> None:
    task, request_id = await asked(world, "ls")
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert world.service.pending() == []
    assert world.told() == [("permission.asked", "ls"), ("permission.replied", "reject")]
    assert await world.service.reply(request_id, "once") is False


def damage_grants(tmp_path: Path) -> None:
    record = tmp_path / "home/.local/share/opencode-tui/storage/permission/global.json"
    record.parent.mkdir(parents=True)
    record.write_text("{")


async def test_a_grant_that_cannot_be_stored_still_allows_the_one_act(world: World, tmp_path: Path) -> None:
    damage_grants(tmp_path)
    task, request_id = await asked(world, "ls", always=["ls *"])
    with pytest.raises(StorageError):
        await world.service.reply(request_id, "always")
    await task


REFUSED = {"sandbox": {"kind": "refused", "runs": "host", "tier": "bubblewrap", "host": "db", "allows": "db"}}


async def test_an_answer_that_allows_a_host_is_told_from_one_that_lets_the_command_out(world: World) -> None:
    more: dict[str, Any] = {"metadata": REFUSED, "is_optional": True, "always": ["npm test *"]}
    task, request_id = await asked(world, "npm test", **more)
    await world.service.reply(request_id, "always", host=True)
    assert await task is True
    assert [(grant.permission, grant.pattern) for grant in await world.grants.listed()] == [("network", "db")]
    for reply in ("once", "always"):
        task, request_id = await asked(world, "npm test", **more)
        await world.service.reply(request_id, reply)
        assert await task is False
    assert await world.ask("npm test", **more) is False  # the grant allows it now


async def test_a_host_that_cannot_be_stored_allows_nothing(world: World, tmp_path: Path) -> None:
    damage_grants(tmp_path)
    other, last = await asked(world, "ls")
    task, request_id = await asked(world, "npm test", metadata=REFUSED, is_optional=True)
    with pytest.raises(StorageError):
        await world.service.reply(request_id, "always", host=True)
    with pytest.raises(PermissionRefused, match="Access to db could not be stored"):
        await task
    assert world.told()[-1] == ("permission.replied", "reject")
    assert [request.id for request in world.service.pending()] == [last]
    await world.service.reply(last, "once")
    assert await other is False


async def test_the_strictest_of_all_layers_decides(world: World) -> None:
    allowing = rules("bash * allow")
    with pytest.raises(ApprovalUnavailableError):
        await world.ask("ls", layers=[allowing, *ASKING], policy=RefuseQuestions())
    with pytest.raises(DeniedError):
        await world.ask("ls", layers=[allowing, rules("bash * deny")], policy=AutoApprove(AskPerson()))


async def test_what_must_be_asked_is_allowed_only_by_its_own_name(world: World) -> None:
    command = 'eval "$(cat x)"'
    refuse = RefuseQuestions()
    await world.ask(command, layers=[rules("bash * allow", f"bash {command} allow")], policy=refuse, must_ask=[command])
    for ruleset in (rules("bash * allow"), rules("bash eval * allow"), rules(f"bash {command} allow", "bash * allow")):
        with pytest.raises(ApprovalUnavailableError):
            await world.ask(command, layers=[ruleset], policy=refuse, must_ask=[command])


async def test_members_that_are_known_need_no_rule_of_their_own(world: World) -> None:
    layers = [rules("bash * allow", "bash eval x allow")]
    await world.ask("ls", "eval x", layers=layers, policy=RefuseQuestions(), must_ask=["eval x"])


async def test_a_grant_with_wildcards_does_not_cover_what_must_be_asked(world: World) -> None:
    await world.grants.add("bash", ["eval *"])
    with pytest.raises(ApprovalUnavailableError):
        await world.ask("eval x", policy=RefuseQuestions(), must_ask=["eval x"])
    await world.grants.add("bash", ["eval x"])
    await world.ask("eval x", policy=RefuseQuestions(), must_ask=["eval x"])


async def test_a_call_without_patterns_is_asked_for_as_a_whole(world: World) -> None:
    with pytest.raises(ApprovalUnavailableError):
        await world.ask(policy=RefuseQuestions())
    await world.ask(layers=[rules("bash * allow")], policy=RefuseQuestions())


async def test_auto_answers_everything_but_doom_loops(world: World) -> None:
    auto = AutoApprove(RefuseQuestions())
    await world.ask("rm x", policy=auto)
    with pytest.raises(ApprovalUnavailableError):
        await world.ask("bash", permission="doom_loop", layers=[rules("doom_loop * ask")], policy=auto)
    assert world.events == []
    assert await world.grants.listed() == []


async def test_without_a_terminal_the_refusal_says_how_to_allow_it(world: World) -> None:
    with pytest.raises(
        ApprovalUnavailableError,
        match=r"^bash 'rm x' needs approval, .* no terminal is attached; use --auto, .* permission\.bash ",
    ):
        await world.ask("rm x", policy=RefuseQuestions())


async def test_a_tools_ask_uses_the_rules_of_the_moment(world: World) -> None:
    layers = [rules("bash * deny")]
    ask = CallPermission(world.service, "ses_1", CALL, lambda: layers, AskPerson())
    with pytest.raises(DeniedError):
        await ask("bash", ["ls"])
    layers[0] = rules("bash * allow")
    await ask("bash", ["ls"], always=["ls *"], metadata={})


async def test_a_question_asked_while_a_grant_is_stored_is_not_asked_in_vain(world: World) -> None:
    task, request_id = await asked(world, "ls", always=["ls *"])
    later = [asyncio.create_task(world.ask("ls -l")) for _ in range(20)]
    await world.service.reply(request_id, "always")
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(task, *later)


async def test_an_edited_pattern_is_stored_instead_of_the_suggested_one(world: World) -> None:
    task, request_id = await asked(world, "npm install x", always=["npm install *"])
    await world.service.reply(request_id, "always", always=[" npm install x "])
    await task
    assert [grant.pattern for grant in await world.grants.listed()] == ["npm install x"]


@pytest.mark.parametrize(("suggested", "edited"), [([], ["edit *"]), (["npm *"], []), (["npm *"], ["  "])])
async def test_an_impossible_edit_leaves_the_request_open(
    world: World, suggested: list[str], edited: list[str]
) -> None:
    task, request_id = await asked(world, "npm x", always=suggested)
    with pytest.raises(ConfigError):
        await world.service.reply(request_id, "always", always=edited)
    assert [request.id for request in world.service.pending()] == [request_id]
    await world.service.reply(request_id, "once")
    await task
    assert await world.grants.listed() == []


async def test_built_in_rules_do_not_allow_what_the_user_must_allow(world: World) -> None:
    built_in: Ruleset = [rule("bash", "*", "allow")]
    own = rules("bash npm * allow")
    with pytest.raises(ApprovalUnavailableError):
        await world.ask("npm x", layers=[built_in], policy=RefuseQuestions(), by_user=["npm x"])
    await world.ask("npm x", layers=[[*built_in, *own]], policy=RefuseQuestions(), by_user=["npm x"])
    await world.grants.add("bash", ["npm *"])
    await world.ask("npm x", layers=[built_in], policy=RefuseQuestions(), by_user=["npm x"])


async def test_one_question_is_about_all_permissions_of_a_call(world: World) -> None:
    path = Query(session_id="ses_1", permission="external_directory", patterns=["/x/*"], always=["/x/*"])
    layers = [rules("bash * ask", "external_directory * ask")]
    first, request_id = await asked(world, "ls /x", layers=layers, always=["ls *"], also=[path])
    await world.service.reply(request_id, "always")
    await first
    second, request_id = await asked(world, "ls /x", layers=layers, always=["ls *"], also=[path])
    [request] = world.service.pending()
    assert (request.permission, request.always) == ("external_directory", ["/x/*"])
    await world.service.reply(request_id, "once")
    await second
    assert len(world.told()) == 4


async def test_a_rejected_option_rejects_nothing_else(world: World) -> None:
    task, _ = await asked(world, "ls")
    option, request_id = await asked(world, "npm x", is_optional=True)
    await world.service.reply(request_id, "reject")
    with pytest.raises(RejectedError):
        await option
    [left] = world.service.pending()
    await world.service.reply(left.id, "once")
    await task


async def test_auto_refuses_what_leaves_the_sandbox(world: World) -> None:
    metadata = {"sandbox": {"runs": "host", "tier": "bubblewrap", "reasons": ["Accesses the network."]}}
    with pytest.raises(OutsideRefusedError, match="Accesses the network"):
        await world.ask("curl x", policy=AutoApprove(RefuseQuestions()), metadata=metadata)
    await world.ask("curl x", policy=AutoApprove(RefuseQuestions(), outside=True), metadata=metadata)
    without = {"sandbox": {"runs": "host", "tier": "none", "reasons": []}}
    await world.ask("curl x", policy=AutoApprove(RefuseQuestions()), metadata=without)


async def test_auto_refuses_paths_outside_and_secrets_where_commands_are_confined(
    open_grants: Callable[..., Grants],
) -> None:
    async def is_confined() -> bool:
        return True

    service = PermissionService(
        publish=lambda event: None,
        identifier=Identifier(lambda: NOW),
        grants=open_grants(),
        has_sandbox=is_confined,
    )
    auto, asking = AutoApprove(RefuseQuestions()), [rules("* * ask")]
    for permission, pattern in (("external_directory", "/x/*"), ("read", "/w/.env")):
        query = Query(session_id="ses_1", permission=permission, patterns=[pattern])
        with pytest.raises(OutsideRefusedError):
            await service.ask(query, layers=asking, policy=auto)
    await service.ask(Query(session_id="ses_1", permission="edit", patterns=["a"]), layers=asking, policy=auto)


@pytest.mark.parametrize(
    ("query", "reached", "is_refused"),
    [
        (Query("", "chat_write", ["*"], is_foreign=True), (), True),  # a tool of an MCP server or a plugin
        (Query("", "chat_write", ["*"], is_foreign=True), ("", "a.example"), True),
        (Query("", "webfetch", ["https://a.example/x"]), (), True),
        (Query("", "webfetch", ["https://a.example/x"]), ("b.example",), True),
        (Query("", "webfetch", ["https://a.example/x"]), ("a.example",), False),
        (Query("", "webfetch", ["http://127.0.0.1/x"], metadata={"local": True}), ("127.0.0.1",), True),
        (Query("", "websearch", ["words"]), (), True),
        (Query("", "websearch", ["words"]), ("a.example",), True),
        (Query("", "websearch", ["words"]), ("",), False),
        (Query("", "edit", ["a.py"], metadata={"protected": ["a.py"]}), (), True),
        (Query("", "bash", ["make"]), (), False),
        (Query("", "task", ["general"]), (), False),
    ],
)
@pytest.mark.parametrize("has_sandbox", [True, False])
async def test_auto_answers_no_rule_that_asks_about_what_leaves_the_sandbox(
    open_grants: Callable[..., Grants], query: Query, reached: tuple[str, ...], is_refused: bool, has_sandbox: bool
) -> None:
    async def is_confined() -> bool:
        return has_sandbox

    async def reaches(host: str) -> bool:
        return host in reached

    service = PermissionService(
        publish=lambda event: None,
        identifier=Identifier(lambda: NOW),
        grants=open_grants(),
        has_sandbox=is_confined,
        reaches_host=reaches,
    )
    asking, auto = [rules("* * allow", f"{query.permission} * ask")], AutoApprove(RefuseQuestions())
    with pytest.raises(OutsideRefusedError) if is_refused and has_sandbox else contextlib.nullcontext():
        await service.ask(query, layers=asking, policy=auto)
    await service.ask(query, layers=asking, policy=auto.with_outside())
    await service.ask(query, layers=[rules("* * allow")], policy=auto)
