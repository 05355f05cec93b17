"""What the demo model says where no tool can be used: titles and summaries, made from the conversation's own words."""

from opencode_tui.engine.provider.demo.output import one_line
from opencode_tui.engine.provider.demo.turn import calls, last_words, user_texts
from opencode_tui.engine.provider.stream import LlmRequest

_TITLE_LENGTH = 50
_SUBJECTS = ("filePath", "command", "pattern", "path")


def title_of(request: LlmRequest) -> str:
    """Return the first words of the latest thing that the person said, at most 50 characters."""
    line = " ".join(last_words(request).split()) or "Demo"
    if len(line) > _TITLE_LENGTH:
        line = line[: _TITLE_LENGTH - 1].rsplit(" ", 1)[0].rstrip(" ,.;:") + "…"
    return line[0].upper() + line[1:]


def summarise_conversation(request: LlmRequest) -> str:
    """Return what was asked and what was called, in order: nothing that is not in the conversation."""
    asked = [one_line(text) for text in user_texts(request) if "summarize the conversation" not in text]
    acts = [
        f"{done.call.tool} {next((str(done.call.input[key]) for key in _SUBJECTS if key in done.call.input), '')}".strip()
        + (" (failed)" if done.result.is_error else "")
        for done in calls(request.messages)
    ]
    sections = ["## Goal\n" + _bullets(asked or ["nothing yet"]), "## Done\n" + _bullets(acts or ["nothing yet"])]
    return "\n\n".join(
        [*sections, "This summary was made by the built-in demo, a script: it lists, it does not judge."]
    )


def _bullets(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines[-40:])
