"""Instructions of the user: `#` adds a rule to AGENTS.md after a preview, `/memory` edits the file."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from opencode_tui.text.quantity import short_path
from opencode_tui.tui.actions.registry import action
from opencode_tui.tui.chat.chat import Chat
from opencode_tui.tui.dialogs.confirm import Confirmation, ConfirmPanel
from opencode_tui.tui.dialogs.listing import Choice, ListContent
from opencode_tui.tui.external_editor import edit_file
from opencode_tui.tui.keys.keyed import KeyAction, cancels
from opencode_tui.tui.prompt.draft import Draft

FILE = "AGENTS.md"

_SHOWN_LINES = 4
"""Lines of the file's end in the preview."""


def is_rule(text: str) -> bool:
    """Return whether a prompt is a rule to keep: one line that starts with `# `, such as `# use tabs`; `#42 fails` is none."""
    line = text.rstrip()
    return line.startswith("# ") and "\n" not in line


def add_rule(chat: Chat, draft: Draft) -> None:
    """Ask to which file a rule is added, with a preview."""
    chat.do(_ask(chat, draft))


async def _files(chat: Chat) -> tuple[Path, Path, str]:
    """Return the file of the project, the file of the user, and the user's home folder."""
    places = await chat.control.client.project.places()
    return Path(places.worktree) / FILE, Path(places.config) / FILE, places.home


async def _ask(chat: Chat, draft: Draft) -> None:
    project, own, home = await _files(chat)
    rule = draft.whole.strip()[1:].strip()
    end = await asyncio.to_thread(_last_lines, project)

    def choose(path: Path) -> Callable[[], object]:
        return lambda: chat.do(_append(chat, path, rule))

    def back() -> None:
        chat.panels.close()
        chat.prompt.put_back(draft)

    about = [*(f"  {line}" for line in end), f"+ - {rule}"]
    answers = (
        KeyAction("memory_project", f"add to {short_path(str(project), home)}", choose(project)),
        KeyAction("memory_everywhere", f"for all projects: {short_path(str(own), home)}", choose(own)),
        cancels("cancel", back),
    )
    sentence = "Instructions are sent with every request. To send it as a message, start with a space."
    chat.panels.open(ConfirmPanel(Confirmation("Keep this rule?", about, sentence, answers, "panel:memory")))


async def _append(chat: Chat, path: Path, rule: str) -> None:
    chat.panels.close()
    from opencode_tui.client.user_files import append_line  # only for a new rule

    await asyncio.to_thread(append_line, path, f"- {rule}")
    chat.show_note("done", "Rule added", f"{path} · /memory edits it")


@action("memory_edit", loads="the instructions")
async def edit_instructions(chat: Chat) -> None:
    """Choose a file with instructions and edit it."""
    if not chat.control.is_alone:
        chat.show_note("note", "Not available here", "the instructions are files of the server")
        return
    project, own, home = await _files(chat)
    choices = [
        Choice(
            str(path),
            short_path(str(path), home),
            "" if await asyncio.to_thread(path.exists) else "new file",
            group=group,
        )
        for path, group in ((project, "This project"), (own, "All projects"))
    ]

    def done(chosen: str | None) -> None:
        if chosen is not None:
            chat.do(_edit(chat, Path(chosen)))

    chat.app.open_overlay(ListContent(choices, hint="Edit instructions", enter="edit"), done)


async def _edit(chat: Chat, path: Path) -> None:
    await asyncio.to_thread(path.parent.mkdir, parents=True, exist_ok=True)
    edit_file(chat.app, path)
    chat.refresh_all()


def _last_lines(path: Path) -> list[str]:
    """Return the last lines of a file that are not empty; none of a missing file. Blocks."""
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    return [line for line in lines if line.strip()][-_SHOWN_LINES:]
