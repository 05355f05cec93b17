"""Ask the user the questions of the agent at the terminal: numbered options, or a typed answer.

Nothing is preselected: an empty line repeats the keys, and input typed before the question appeared is dropped.
"""

from opencode_tui.cli.run.answered import ELSEWHERE, unless_answered
from opencode_tui.cli.run.terminal_lines import TerminalLines
from opencode_tui.cli.style import Style
from opencode_tui.client.client import Client
from opencode_tui.schema.api.question import Question
from opencode_tui.schema.event.event import QuestionAsked
from opencode_tui.text.cells import wrap
from opencode_tui.text.safe_text import make_safe

DISMISS = "-"


class QuestionPrompt:
    """Asks one question at a time and sends the answers; one that another client answers is withdrawn."""

    def __init__(self, terminal: TerminalLines | None, client: Client, style: Style) -> None:
        self._terminal = terminal
        self._client = client
        self._style = style

    async def ask(self, event: QuestionAsked) -> None:
        """Show the questions and send the answers; `-`, or no terminal, dismisses them."""
        if not any(pending.id == event.id for pending in await self._client.questions.pending()):
            return
        terminal = self._terminal
        if terminal is None:
            await self._client.questions.reject(event.id)
            return
        answers = await unless_answered(self._client, event.id, self._all(terminal, event))
        if answers is None:
            is_ours = False
        elif len(answers) == len(event.questions):
            is_ours = await self._client.questions.reply(event.id, answers)
        else:
            is_ours = await self._client.questions.reject(event.id)
        if not is_ours:
            terminal.show(f"{ELSEWHERE}\n")

    async def _all(self, terminal: TerminalLines, event: QuestionAsked) -> list[list[str]]:
        """Return the answers up to a question that was dismissed."""
        answers: list[list[str]] = []
        terminal.drop_typed()
        for asked in event.questions:
            answer = await self._one(terminal, Question.model_validate(asked))
            if answer is None:
                break
            answers.append(answer)
        return answers

    async def _one(self, terminal: TerminalLines, question: Question) -> list[str] | None:
        """Return the chosen labels, None if the question was dismissed."""
        terminal.show(render_question(question, self._style))
        while line := await terminal.read("> "):
            text = line.strip()
            if text == DISMISS:
                return None
            if text:
                return read_answer(text, question)
            terminal.show(_keys(question, self._style))
        terminal.show("\n")
        return None


def render_question(question: Question, style: Style) -> str:
    """Return the safe lines of a question, each with its line feed."""
    room = (style.columns() or 80) - 2
    first, *rest = wrap(make_safe(question.question), room) or [""]
    lines = [f"{style.paint('?', 'accent')} {style.paint(first, 'bold')}", *(f"  {line}" for line in rest)]
    for number, option in enumerate(question.options, start=1):
        described = f"  {style.paint(make_safe(option.description), 'muted')}" if option.description else ""
        lines.append(f"  {style.paint(str(number), 'accent', 'bold')} {make_safe(option.label)}{described}")
    return "\n".join(lines) + "\n" + _keys(question, style)


def read_answer(text: str, question: Question) -> list[str]:
    """Return the labels that a typed line selects, by number or by label, else the line itself."""
    pieces = [piece.strip() for piece in text.split(",")] if question.multiple else [text]
    labels = [_label(piece, question) for piece in pieces if piece]
    known = [label for label in labels if label is not None]
    return known if known and len(known) == len(labels) else [text]


def _label(piece: str, question: Question) -> str | None:
    if piece.isascii() and piece.isdigit() and 1 <= int(piece) <= len(question.options):
        return question.options[int(piece) - 1].label
    return next((option.label for option in question.options if option.label.lower() == piece.lower()), None)


def _keys(question: Question, style: Style) -> str:
    numbers = "numbers, separated by commas" if question.multiple else "a number"
    choice = f"{numbers}, or type an answer" if question.options else "type an answer"
    return style.paint(f"  {choice}; {DISMISS} to cancel (stops the turn)", "muted") + "\n"
