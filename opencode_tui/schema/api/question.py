"""Questions that a tool puts to the person, and how they stand. Source: reference, section 28 (question)."""

from pydantic import Field

from opencode_tui.schema.permission import ToolCallRef
from opencode_tui.schema.record import Record, absent


class QuestionOption(Record):
    """One answer that is offered."""

    label: str
    description: str = ""


class Question(Record):
    """One question: `header` is its few words for a narrow place; `multiple` allows several answers."""

    question: str
    header: str = ""
    options: list[QuestionOption] = Field(default_factory=list[QuestionOption])
    multiple: bool | None = absent()


class QuestionRequest(Record):
    """Questions that wait together; an answer is a list of labels for each, the person's own words among them."""

    id: str
    session_id: str
    questions: list[Question]
    tool: ToolCallRef | None = absent()
