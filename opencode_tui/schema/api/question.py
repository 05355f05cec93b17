"""Questions of a tool to the user. Source: docs/internals/tools.md#question."""

from opencode_tui.schema.field import Field
from opencode_tui.schema.permission import ToolCallRef
from opencode_tui.schema.record import Record, absent


class QuestionOption(Record):
    """One of the suggested answers."""

    label: str
    description: str = ""


class Question(Record):
    """One question: `header` is a short label; `multiple` allows several answers.

    `plan` is the file of the finished plan that it is about, relative to the worktree.
    """

    question: str
    header: str = ""
    options: list[QuestionOption] = Field(default_factory=list[QuestionOption])
    multiple: bool | None = absent()
    plan: str | None = absent()


class QuestionRequest(Record):
    """Questions that are asked together; an answer is a list of labels for each, own text of the user included."""

    id: str
    session_id: str
    questions: list[Question]
    tool: ToolCallRef | None = absent()


class QuestionAnswers(Record):
    """For each question the chosen labels, or own text."""

    answers: list[list[str]]
