"""Questions to the user: ask, wait, accept the answers.

Every question is closed by exactly one `question.replied` or `question.rejected`: by the first answer, by a dismissal, or, as
rejected, when the task that asked is canceled. Later answers have no effect. Call all methods on the event loop.
"""

import asyncio
from collections.abc import Callable, Sequence

from msgspec import Struct

from opencode_tui.engine.permission.policy import Policy
from opencode_tui.schema.api.question import Question, QuestionRequest
from opencode_tui.schema.error import ApprovalUnavailableError, QuestionDismissedError, ToolError
from opencode_tui.schema.event.event import QuestionAsked, QuestionRejected, QuestionReplied
from opencode_tui.schema.ids import Identifier
from opencode_tui.schema.permission import PermissionRequest, ToolCallRef

Publish = Callable[[QuestionAsked | QuestionReplied | QuestionRejected], None]
Answers = list[list[str]]


class _Pending(Struct, frozen=True):
    request: QuestionRequest
    answers: asyncio.Future[Answers]


class QuestionService:
    """The open questions of one folder's sessions."""

    def __init__(self, *, publish: Publish, identifier: Identifier) -> None:
        self._publish = publish
        self._identifier = identifier
        self._pending: dict[str, _Pending] = {}

    async def ask(
        self, session_id: str, questions: Sequence[Question], *, tool: ToolCallRef | None, policy: Policy
    ) -> Answers:
        """Return the chosen labels of each question; waits without a limit.

        Raises QuestionDismissedError, and ToolError when no user is present.
        """
        request = QuestionRequest(
            id=self._identifier.ascending("que"), session_id=session_id, questions=list(questions), tool=tool
        )
        _check_somebody_is_there(request, policy)
        pending = _Pending(request, asyncio.get_running_loop().create_future())
        self._pending[request.id] = pending
        self._publish(QuestionAsked.model_validate(request.to_dict()))
        try:
            return await pending.answers
        finally:
            if self._pending.pop(request.id, None) is not None:
                self._publish(QuestionRejected(session_id=session_id, request_id=request.id))

    def reply(self, request_id: str, answers: Answers) -> bool:
        """Answer a question and return whether it was still open; missing answers count as empty."""
        pending = self._pending.pop(request_id, None)
        if pending is None:
            return False
        count = len(pending.request.questions)
        whole = [list(answer) for answer in answers[:count]] + [[] for _ in range(count - len(answers))]
        if not pending.answers.done():
            pending.answers.set_result(whole)
        self._publish(QuestionReplied(session_id=pending.request.session_id, request_id=request_id, answers=whole))
        return True

    def reject(self, request_id: str) -> bool:
        """Dismiss a question and return whether it was still open; the turn that asked ends."""
        pending = self._pending.pop(request_id, None)
        if pending is None:
            return False
        if not pending.answers.done():
            pending.answers.set_exception(QuestionDismissedError())
        self._publish(QuestionRejected(session_id=pending.request.session_id, request_id=request_id))
        return True

    def pending(self) -> list[QuestionRequest]:
        """Return the open questions, oldest first."""
        return [pending.request for pending in self._pending.values()]


def _check_somebody_is_there(request: QuestionRequest, policy: Policy) -> None:
    """Raise ToolError when the run's policy says that no user is present."""
    try:
        policy.decide(
            PermissionRequest(
                id=request.id,
                session_id=request.session_id,
                permission="question",
                patterns=["*"],
                metadata={},
                always=[],
            )
        )
    except ApprovalUnavailableError as error:
        raise ToolError(
            "no user is present: this run has no terminal; make the most sensible choice yourself and report it"
        ) from error
