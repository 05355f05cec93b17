import asyncio

import pytest

from opencode_tui.engine.permission.policy import AskPerson, AutoApprove, RefuseQuestions
from opencode_tui.engine.session.question import QuestionService
from opencode_tui.schema.api.question import Question, QuestionOption
from opencode_tui.schema.error import QuestionDismissedError, RunAborted, ToolError
from opencode_tui.schema.event.event import QuestionAsked, QuestionRejected, QuestionReplied
from opencode_tui.schema.ids import Identifier
from opencode_tui.schema.permission import ToolCallRef
from tests.support.provider.model_script import Answer, Call
from tests.support.world.engine import opened, while_reacting

COLOR = Question(question="Which color?", options=[QuestionOption(label="red"), QuestionOption(label="blue")])
CALL = Call(
    "question", {"questions": [{"question": "Which?", "header": "w", "options": [{"label": "A"}, {"label": "B"}]}]}
)


class Desk:
    """A question service and its events."""

    def __init__(self):
        self.events = []
        self.service = QuestionService(publish=self.events.append, identifier=Identifier())

    async def ask(self, *questions, policy=None):
        task = asyncio.create_task(
            self.service.ask(
                "ses_1", questions, tool=ToolCallRef(message_id="msg_1", call_id="c"), policy=policy or AskPerson()
            )
        )
        await asyncio.sleep(0)
        return task

    @property
    def kinds(self):
        return [type(event) for event in self.events]


async def test_an_answer_ends_the_wait_and_closes_the_question():
    desk = Desk()
    task = await desk.ask(COLOR)
    (pending,) = desk.service.pending()
    assert desk.service.reply(pending.id, [["blue"]])
    assert await task == [["blue"]]
    assert (desk.service.pending(), desk.kinds) == ([], [QuestionAsked, QuestionReplied])
    assert desk.events[0].questions == [COLOR.to_dict()]
    assert desk.events[0].tool == {"messageID": "msg_1", "callID": "c"}


async def test_a_dismissal_is_raised_and_published():
    desk = Desk()
    task = await desk.ask(COLOR)
    assert desk.service.reject(desk.service.pending()[0].id)
    with pytest.raises(QuestionDismissedError):
        await task
    assert desk.kinds == [QuestionAsked, QuestionRejected]


async def test_a_cancel_closes_the_question():
    desk = Desk()
    task = await desk.ask(COLOR)
    task.cancel()
    await asyncio.wait({task})
    assert (desk.service.pending(), desk.kinds) == ([], [QuestionAsked, QuestionRejected])


async def test_only_the_first_answer_counts_and_unknown_ids_are_ignored():
    desk = Desk()
    task = await desk.ask(COLOR)
    request = desk.service.pending()[0].id
    assert [desk.service.reply(request, [["red"]]), desk.service.reply(request, [["blue"]])] == [True, False]
    assert (desk.service.reject(request), desk.service.reply("que_1", []), await task) == (False, False, [["red"]])


async def test_answers_that_are_missing_count_as_none_and_further_ones_are_dropped():
    desk = Desk()
    task = await desk.ask(COLOR, COLOR)
    desk.service.reply(desk.service.pending()[0].id, [["red"]])
    assert await task == [["red"], []]
    task = await desk.ask(COLOR)
    desk.service.reply(desk.service.pending()[0].id, [["red"], ["blue"]])
    assert await task == [["red"]]


@pytest.mark.parametrize("policy", [RefuseQuestions(), AutoApprove(RefuseQuestions())])
async def test_without_a_user_the_model_gets_an_error(policy):
    desk = Desk()
    task = await desk.ask(COLOR, policy=policy)
    with pytest.raises(ToolError, match="no user is present"):
        await task
    assert desk.events == []


async def test_the_model_reads_the_answers_and_continues(environ, tmp_path):
    async with opened(environ, tmp_path, Answer(calls=(CALL,)), Answer(text="B it is")) as world:

        async def choose(event):
            await world.client.questions.reply(event.id, [["B"]])

        session, event = await while_reacting(world, QuestionAsked, choose, world.prompt("ask me"))
        (call,) = await world.calls(session)
        assert event.tool["callID"] == call.call_id
        assert (call.state.title, '"Which?"="B"' in call.state.output) == ("Asked 1 question", True)
        assert await world.answer(session) == "B it is"


async def test_a_dismissed_question_ends_the_turn(environ, tmp_path):
    async with opened(environ, tmp_path, Answer(calls=(CALL,)), Answer(text="never")) as world:

        async def dismiss(event):
            await world.client.questions.reject(event.id)

        session, _ = await while_reacting(world, QuestionAsked, dismiss, world.prompt("ask me"))
        (call,) = await world.calls(session)
        assert (call.state.status, call.state.error) == (
            "error",
            "The user dismissed the question without an answer.",
        )
        assert len(world.server.bodies) == 1


async def test_an_abort_closes_an_open_question(environ, tmp_path):
    async with opened(environ, tmp_path, Answer(calls=(CALL,))) as world:
        session = await world.new_session()

        async def abort(event):
            await world.client.prompts.abort(session.id)

        with pytest.raises(RunAborted):
            await while_reacting(world, QuestionAsked, abort, world.prompt("ask me", session=session))
        assert await world.client.questions.pending() == []
