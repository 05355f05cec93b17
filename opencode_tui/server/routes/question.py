"""Questions that tools put to the person."""

from fastapi import APIRouter, Response

from opencode_tui.schema.error import NotFoundError
from opencode_tui.schema.question import QuestionRequest
from opencode_tui.schema.record import Record
from opencode_tui.server.answer import answer_records, answer_value
from opencode_tui.server.request import FolderClient, QuestionId

router = APIRouter(tags=["question"])


class QuestionAnswers(Record):
    """For each question the labels that were chosen, or words of one's own."""

    answers: list[list[str]]


@router.get("/question", response_model=list[QuestionRequest])
async def list_questions(client: FolderClient) -> Response:
    """List the questions that are open, oldest first."""
    return answer_records(await client.questions.pending())


@router.post("/question/{requestID}/reply", response_model=bool)
async def reply_question(client: FolderClient, request_id: QuestionId, answer: QuestionAnswers) -> Response:
    """Answer; the first answer counts."""
    return _settled(request_id, await client.questions.reply(request_id, answer.answers))


@router.post("/question/{requestID}/reject", response_model=bool)
async def reject_question(client: FolderClient, request_id: QuestionId) -> Response:
    """Dismiss, which ends the turn that asked."""
    return _settled(request_id, await client.questions.reject(request_id))


def _settled(request_id: str, was_open: bool) -> Response:
    if not was_open:
        raise NotFoundError(f"no open question {request_id}; it was answered, or its turn has ended")
    return answer_value(True)
