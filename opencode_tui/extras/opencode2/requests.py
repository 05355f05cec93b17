"""Permissions, questions and undos as OpenCode 2 has them."""

import difflib
from collections.abc import Sequence

from opencode_tui.client.client import Client
from opencode_tui.extras.opencode2.schema.session import (
    AskedPermission,
    AskedQuestion,
    AskedQuestions,
    CallSource,
    ChoiceOfQuestion,
    FileChange,
    QuestionSource,
    StagedRevert,
)
from opencode_tui.schema.api.question import Question, QuestionRequest
from opencode_tui.schema.error import NoSuchMessageError
from opencode_tui.schema.event.event import QuestionAsked
from opencode_tui.schema.permission import PermissionRequest
from opencode_tui.schema.session.diff import FileDiff, lines_of
from opencode_tui.schema.session.session import SessionInfo


def permission_value(request: PermissionRequest) -> AskedPermission:
    """Return a permission that waits for the user."""
    call = request.tool
    return AskedPermission(
        id=request.id,
        session_id=request.session_id,
        action=request.permission,
        resources=request.patterns,
        save=request.always or None,
        metadata=request.metadata or None,
        source=None if call is None else CallSource(message_id=call.message_id, call_id=call.call_id),
    )


def question_value(request: QuestionRequest | QuestionAsked) -> AskedQuestions:
    """Return questions that wait for the user."""
    asked = [one if isinstance(one, Question) else Question.model_validate(one) for one in request.questions]
    call = request.tool
    source = None
    if call is not None:
        names = call if isinstance(call, dict) else call.to_dict()
        source = QuestionSource(message_id=names["messageID"], call_id=names["callID"])
    return AskedQuestions(
        id=request.id, session_id=request.session_id, questions=[_question(one) for one in asked], tool=source
    )


def _question(question: Question) -> AskedQuestion:
    options = [ChoiceOfQuestion(label=one.label, description=one.description) for one in question.options]
    return AskedQuestion(
        question=question.question, header=question.header, options=options, multiple=question.multiple
    )


async def staged_value(client: Client, info: SessionInfo) -> StagedRevert | None:
    """Return the undo of a session, with what it did to files; None without one."""
    revert = info.revert
    if revert is None:
        return None
    try:
        diffs = await client.undo.changes(info.id, revert.message_id, revert.part_id)
    except NoSuchMessageError:
        diffs = list[FileDiff]()
    files = [_undone(diff) for diff in diffs]
    return StagedRevert(
        message_id=revert.message_id,
        part_id=revert.part_id,
        snapshot=revert.snapshot,
        diff="".join(file.patch for file in files),
        files=files,
    )


_UNDONE = {"added": "deleted", "deleted": "added", "modified": "modified"}


def _undone(diff: FileDiff) -> FileChange:
    """Return the undo of a change: what it added is removed."""
    path, status = str(diff.file), _UNDONE[diff.status or "modified"]
    return FileChange.model_validate(
        {
            "path": path,
            "status": status,
            "additions": diff.deletions,
            "deletions": diff.additions,
            "patch": _patch(path, status, lines_of(diff.after), lines_of(diff.before)),
        }
    )


def _patch(path: str, status: str, before: Sequence[str], after: Sequence[str]) -> str:
    old, new = ("/dev/null" if status == "added" else f"a/{path}", "/dev/null" if status == "deleted" else f"b/{path}")
    lines = difflib.unified_diff(list(before), list(after), old, new)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
