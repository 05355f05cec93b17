"""Side questions: asked in a panel, answered from the session, of which they are no part."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from opencode_tui.schema.error import OpencodeError
from opencode_tui.tui.chat.chat import Chat, action
from opencode_tui.tui.dialogs.text_panel import TextAsk, TextPanel

if TYPE_CHECKING:
    from opencode_tui.schema.api.side_question import SideExchange

APART = "not part of the session"


@dataclass(slots=True)
class _Talk:
    """The side questions of a session until their panel is closed."""

    session_id: str
    earlier: "list[SideExchange]" = field(default_factory=list)


@action("side_ask", with_words=True)
def ask_aside(chat: Chat, words: str = "") -> None:
    """Ask a side question, or let one be typed."""
    info = chat.shown_session()
    if info is None:
        return
    talk = _Talk(info.id)
    if words.strip():
        _ask(chat, talk, words.strip())
    else:
        _type(chat, talk)


def _type(chat: Chat, talk: _Talk) -> None:
    def ask(words: str) -> None:
        if words:
            _ask(chat, talk, words)

    ask_for = TextAsk("Side question", "ask", hint=APART, escape="close")
    chat.panels.open(TextPanel(ask_for, done=ask, back=chat.panels.close))


def _ask(chat: Chat, talk: _Talk, words: str) -> None:
    from opencode_tui.schema.api.side_question import SideExchange, SideQuestion
    from opencode_tui.tui.dialogs.side_question import SideQuestionPanel  # with the first one

    async def work() -> None:
        question = SideQuestion(text=words, earlier=list(talk.earlier))
        try:
            answer = await chat.control.client.context.ask(talk.session_id, question)
        except OpencodeError as error:
            panel.show_problem(str(error))
            return
        talk.earlier.append(SideExchange(question=words, answer=answer.text))
        panel.show_answer(answer)
        chat.refresh_chrome()

    def close() -> None:
        worker.cancel()
        chat.panels.close()

    def copy(text: str) -> None:
        chat.app.copy_to_clipboard(text)
        chat.show_note("done", "Copied", "the answer")

    panel = SideQuestionPanel(
        words, apart=APART, now=chat.control.now, again=lambda: _type(chat, talk), copy=copy, closed=close
    )
    chat.panels.open(panel)
    worker = chat.start(work())
