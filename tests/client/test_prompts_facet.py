"""The conversation, through either api."""

import asyncio

import pytest

from opencode_tui.schema.api.request import CommandInput, PromptInput, ShellInput, TextInput
from opencode_tui.schema.error import (
    ConfigError,
    ModelNotFoundError,
    NoSuchMessageError,
    NotFoundError,
    ProviderError,
    RunAborted,
)
from opencode_tui.schema.event.event import (
    PartGrowth,
    PartUpdated,
    PermissionAsked,
    QuestionAsked,
    SessionIdle,
    SessionStatusChanged,
)
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.session.part import TextPart
from tests.support.world.waiting import PATIENCE_S

NOBODY = ModelRef(provider_id="nobody", model_id="x")


def text_of(message) -> str:
    return "".join(part.text for part in message.parts if isinstance(part, TextPart))


async def waited(events, kind):
    """Return the next event of a kind."""
    async with asyncio.timeout(PATIENCE_S):
        async for envelope in events:
            if isinstance(envelope.event, kind):
                return envelope.event
    raise AssertionError(f"no {kind}")


async def test_the_answer_is_the_last_message_and_the_request_is_told_when_it_is_stored(api):
    session = await api.new_session()
    stored = []
    answer = await api.client.prompts.prompt(session.id, api.request("hello"), stored=stored.append)
    user, assistant = await api.client.messages.list(session.id)
    assert answer == assistant and text_of(answer) == "Echo: hello"
    assert stored == [user.info.id]
    found = await api.client.messages.get(session.id, user.info.id)
    assert (found.info.id, found.parts) == (user.info.id, user.parts)  # its summary may come in between
    assert await api.client.messages.list(session.id, 1) == [assistant]


async def test_all_events_of_a_turn_have_come_when_it_is_answered(api):
    session = await api.new_session()
    with api.client.events() as events:
        await api.say(session, "hello <<words 30>>")
        seen = []
        while (envelope := events.poll()) is not None:
            seen.append(envelope.event)
    kinds = [type(event) for event in seen]
    assert kinds.count(SessionIdle) == 1
    assert kinds.index(SessionStatusChanged) < kinds.index(PartGrowth) < kinds.index(SessionIdle)


@pytest.mark.slow
async def test_what_grew_is_what_is_stored_in_the_end(api):
    session = await api.new_session()
    with api.client.events() as events:
        await api.say(session, "hello <<words 200>> <<slow 1>>")
        grown: dict[str, str] = {}
        closed = {}
        while (envelope := events.poll()) is not None:
            match envelope.event:
                case PartGrowth() as event:
                    grown[event.part_id] = grown.get(event.part_id, "") + event.delta
                    assert event.record().id == event.part_id
                case PartUpdated(part=TextPart() as part):
                    closed[part.id] = part.text
                case _:
                    pass
    [(part_id, text)] = grown.items()
    assert closed[part_id].strip() == text.strip() and "200" in text


async def test_a_turn_that_fails_raises_what_made_it_fail(api):
    session = await api.new_session()
    with pytest.raises(ProviderError, match="no such thing"):
        await api.say(session, "hello <<error 400 no such thing>>")
    assert (await api.client.messages.list(session.id))[-1].info.error is not None


@pytest.mark.slow
async def test_an_interrupted_turn_says_so_and_abort_tells_whether_anything_ran(api):
    session = await api.new_session()
    assert await api.client.prompts.abort(session.id) is False
    with api.client.events() as events:
        turn = asyncio.create_task(api.say(session, "hello <<slow 200>> <<words 100>>"))
        await waited(events, PartGrowth)
        assert set(await api.client.prompts.status()) == {session.id}
        assert await api.client.prompts.abort(session.id) is True
        with pytest.raises(RunAborted):
            await turn
    assert await api.client.prompts.status() == {}


async def test_a_request_that_cannot_be_answered_is_refused_before(api):
    session = await api.new_session()
    with pytest.raises(ModelNotFoundError) as raised:
        await api.client.prompts.check(PromptInput(model=NOBODY, parts=[TextInput(text="x")]))
    assert (raised.value.provider_id, raised.value.model_id) == ("nobody", "x")
    with pytest.raises(ConfigError, match="nobody"):
        await api.client.prompts.prompt(session.id, PromptInput(agent="nobody", parts=[TextInput(text="x")]))
    with pytest.raises(NotFoundError):
        await api.client.prompts.prompt("ses_000000000000AAAAAAAAAAAAAA", api.request("x"))
    assert await api.client.messages.list(session.id) == []


async def test_a_request_that_wants_no_answer_is_stored(api):
    session = await api.new_session()
    request = PromptInput(no_reply=True, parts=[TextInput(text="note")])
    stored = await api.client.prompts.prompt(session.id, request)
    assert stored.info.role == "user" and text_of(stored) == "note"
    assert api.model.requests == []


async def test_a_command_is_sent_as_its_prompt(api):
    session = await api.new_session()
    answer = await api.client.prompts.command(session.id, CommandInput(command="init", model="fake/fake-model"))
    assert "AGENTS.md" in text_of(answer)
    with pytest.raises(ConfigError, match="nonsense"):
        await api.client.prompts.command(session.id, CommandInput(command="nonsense"))


async def test_a_shell_line_brings_its_output(api):
    session = await api.new_session()
    message = await api.client.prompts.shell(session.id, ShellInput(command="echo said"))
    assert "said" in message.parts[-1].state.output


async def test_at_signs_become_files(api):
    parts = await api.client.prompts.expand("look at @a.py")
    assert [part.type for part in parts] == ["text", "file"] and parts[1].filename == "a.py"


@pytest.mark.slow
async def test_a_permission_question_is_answered_once(api):
    session = await api.new_session()
    with api.client.events() as events:
        turn = asyncio.create_task(api.say(session, '<<tool bash {"command":"rm -f zzz","description":"d"}>>'))
        asked = await waited(events, PermissionAsked)
        [pending] = await api.client.permissions.pending()
        assert (pending.id, pending.patterns) == (asked.id, ["rm -f zzz"])
        assert await api.client.permissions.reply(asked.id, "once") is True
        await turn
    assert await api.client.permissions.reply(asked.id, "once") is False


async def test_a_question_is_answered_or_dismissed_once(api):
    session = await api.new_session()
    call = '<<tool question {"questions":[{"question":"Which?","header":"h","options":[{"label":"Red"}]}]}>>'
    with api.client.events() as events:
        turn = asyncio.create_task(api.say(session, call))
        asked = await waited(events, QuestionAsked)
        assert [one.id for one in await api.client.questions.pending()] == [asked.id]
        assert await api.client.questions.reply(asked.id, [["Red"]]) is True
        assert "Red" in text_of(await turn)
        assert await api.client.questions.reject(asked.id) is False


async def test_a_part_is_changed_and_removed(api):
    session = await api.new_session()
    answer = await api.say(session, "hello")
    [part] = [part for part in answer.parts if isinstance(part, TextPart)]
    changed = await api.client.messages.update_part(part.changed(text="other"))
    assert changed.text == "other"
    await api.client.messages.remove_part(session.id, answer.info.id, part.id)
    kept = await api.client.messages.get(session.id, answer.info.id)
    assert part.id not in [one.id for one in kept.parts]
    with pytest.raises(NoSuchMessageError):
        await api.client.messages.get(session.id, "msg_000000000000AAAAAAAAAAAAAA")
