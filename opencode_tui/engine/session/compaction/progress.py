"""Whether the model got on between two automatic compactions, and the question where it did not.

A model that reads again what the summary replaced fills its context in a circle, and each round is paid for.
"""

from collections.abc import Sequence

from opencode_tui.engine.permission.policy import Policy
from opencode_tui.engine.session.question import QuestionService
from opencode_tui.engine.session.request.history import compaction_of, filter_compacted
from opencode_tui.engine.session.step.doom import calls_of_turn
from opencode_tui.schema.api.question import Question, QuestionOption
from opencode_tui.schema.error import QuestionDismissedError, SessionError, ToolError
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage, UserMessage
from opencode_tui.schema.session.part import PatchPart, TextPart

_CONTINUE, _STOP = "Compact and continue", "Stop"
_SAID = "The context is full again, and since its last compaction no file was changed and no call was made that is new"
_STOPPED = (
    "stopped before a second compaction without progress: no file was changed and no call was new; say how to go on"
)


def has_progress(messages: Sequence[MessageWithParts]) -> bool:
    """Return whether something new was done since the newest automatic compaction; also where there is none.

    New is a prompt of the user, a changed file, and a call that was not made before in `messages`, which are a session's newest.
    """
    sent = filter_compacted(messages)
    marker = compaction_of(sent[0]) if sent else None
    if marker is None or not marker.auto:
        return True
    ids = [one.info.id for one in messages]
    boundary = ids.index(sent[1].info.id)
    since = messages[boundary + 1 :]
    if not any(isinstance(one.info, AssistantMessage) and one.info.finish for one in since):
        return True  # nothing was tried yet: the request is only too large
    if any(_is_new(one) for one in since):
        return True
    known = set(calls_of_turn(messages[:boundary], -1))
    return any(call not in known for call in calls_of_turn(since, -1))


def _is_new(message: MessageWithParts) -> bool:
    """Return whether a message is a prompt of the user, or changed a file."""
    is_asked = isinstance(message.info, UserMessage) and any(
        isinstance(part, TextPart) and not part.synthetic for part in message.parts
    )
    return is_asked or any(isinstance(part, PatchPart) and part.files for part in message.parts)


async def ask_to_continue(questions: QuestionService, session_id: str, policy: Policy) -> None:
    """Return when the user wants to continue without progress. Raises SessionError when they do not, and without a user."""
    options = [
        QuestionOption(label=_CONTINUE, description="The model may be reading the same things in a circle."),
        QuestionOption(label=_STOP, description="End the turn here."),
    ]
    question = Question(question=f"{_SAID}. Go on?", header="Context", options=options)
    try:
        ((answer, *_),) = await questions.ask(session_id, [question], tool=None, policy=policy) or [[_STOP]]
    except (QuestionDismissedError, ToolError, ValueError) as error:
        raise SessionError(_STOPPED) from error
    if answer != _CONTINUE:
        raise SessionError(_STOPPED)
