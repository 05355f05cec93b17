"""The question tool: the model asks the user. Source: docs/internals/tools.md#question."""

from typing import Annotated

from opencode_tui.engine.tool.kit import ToolKit
from opencode_tui.engine.tool.tool import Parameters, ToolContext, ToolResult, read_description
from opencode_tui.schema.api.question import Question, QuestionOption
from opencode_tui.schema.error import ToolError
from opencode_tui.schema.field import Field

MAX_QUESTIONS = 10


class OptionParameters(Parameters):
    """One possible answer."""

    label: str
    description: str = ""


class QuestionItem(Parameters):
    """One question."""

    question: str
    header: str = ""
    options: list[OptionParameters] = Field(default_factory=list[OptionParameters])
    multiple: bool = False


class QuestionParameters(Parameters):
    """The questions."""

    questions: Annotated[list[QuestionItem], Field(min_length=1, max_length=MAX_QUESTIONS)]


class QuestionTool:
    """Asks the user."""

    name = "question"
    parameters = QuestionParameters

    def __init__(self) -> None:
        self.description = read_description(self.name)

    async def run(self, arguments: QuestionParameters, context: ToolContext) -> ToolResult:
        """Return the answers. Raises QuestionDismissedError when the user gives none."""
        if context.inquire is None:
            raise ToolError("the user cannot be asked here; decide yourself and say what you assumed")
        await context.ask("question", ["*"], always=["*"])
        questions = [_question(item) for item in arguments.questions]
        answers = await context.inquire(questions)
        count = len(questions)
        listed = [f'"{one.question}"="{_said(given)}"' for one, given in zip(questions, answers, strict=True)]
        return ToolResult(
            title=f"Asked {count} question{'' if count == 1 else 's'}",
            output=f"The user answered: {', '.join(listed)}. Go on with these answers in mind.",
            metadata={"answers": answers},
        )


def _question(item: QuestionItem) -> Question:
    return Question(
        question=item.question,
        header=item.header,
        options=[QuestionOption(label=option.label, description=option.description) for option in item.options],
        multiple=item.multiple or None,
    )


def _said(labels: list[str]) -> str:
    return ", ".join(labels) or "Unanswered"


def make(kit: ToolKit) -> QuestionTool:
    """Return the tool."""
    return QuestionTool()
