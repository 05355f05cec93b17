"""Suggests files, agents and commands for the text before the cursor, and inserts the one that is chosen."""

import asyncio
from collections.abc import Set
from contextlib import suppress

from opencode_tui.client.client import Client
from opencode_tui.schema.error import OpencodeError
from opencode_tui.tui.prompt.completion import Completer, Trigger, trigger, with_symbols
from opencode_tui.tui.prompt.completion_list import Completions
from opencode_tui.tui.prompt.editor import WRITTEN_S, Editor


class Completing:
    """The completions of one editor; the caller mounts `completions`."""

    def __init__(self, editor: Editor, client: Client) -> None:
        self.completions = Completions()
        self._editor = editor
        self._completer = Completer(client)
        self._wanted: Trigger | None = None
        """What is completed; None while nothing is."""
        self._found_for: Trigger | None = None
        """What the shown completions are for; another text may have been typed since."""

    @property
    def own_commands(self) -> Set[str]:
        """The names of the user's and the project's commands; each replaces a built-in one of the same name."""
        return self._completer.own_commands

    async def read_commands(self) -> None:
        """Read the names of the commands. Raises OpencodeError."""
        await self._completer.read_commands()

    @property
    def is_shown(self) -> bool:
        """Whether the keys of completions work."""
        return self.completions.display and self._editor.has_focus

    async def follow(self, *, is_typed: bool) -> None:
        """Show completions for the text before the cursor, if the user types it."""
        wanted = self._trigger() if is_typed else None
        self._wanted = wanted
        if wanted is None:
            self._found_for = None
            self._completer.reset()
            self.completions.show(())
            return
        if wanted.kind == "command" and wanted == self._found_for:
            return  # a key behind the text was faster: it has shown them, and may have closed them
        found = await self._completer.find(wanted)
        if self._wanted == wanted:
            self._found_for = wanted
            self.completions.show(found)
        symbols = await self._completer.find_symbols(wanted)  # the next key ends this wait
        if symbols and self._wanted == wanted:
            self.completions.show(with_symbols(found, symbols), is_longer=True)

    async def show_commands(self) -> None:
        """Show the commands for a text that was typed just now, if there are any: the key behind it may choose one."""
        wanted = self._trigger()
        if wanted is not None and wanted.kind == "command" and wanted != self._found_for:
            with suppress(TimeoutError, OpencodeError):  # the text is sent as it is
                async with asyncio.timeout(WRITTEN_S):
                    await self.follow(is_typed=True)

    def run(self, action_id: str) -> bool:
        """Run an action of the shown completions; return whether it did anything."""
        match action_id:
            case "completion_up":
                self.completions.move(-1)
            case "completion_down":
                self.completions.move(1)
            case "completion_close":
                self.completions.show(())
            case "completion_insert" | "completion_send":
                return self.accept(send=action_id == "completion_send")
            case _:
                return False
        return True

    def accept(self, *, send: bool) -> bool:
        """Insert the selected completion; a complete command, or a text typed since then, is left for sending."""
        chosen, wanted, editor = self.completions.chosen, self._trigger(), self._editor
        is_current, self._found_for = wanted == self._found_for, None
        self.completions.show(())
        if chosen is None or wanted is None or (send and not is_current):
            return False
        if not is_current:
            return True
        if send and chosen.insert.strip() == f"/{wanted.query}":
            return False
        line, column = editor.cursor_location
        result = editor.replace(chosen.insert, (line, column - wanted.length), (line, column))
        editor.move_cursor(result.end_location)
        if send and wanted.kind == "command" and not chosen.insert.endswith(" "):
            editor.submit()
        return True

    def _trigger(self) -> Trigger | None:
        line, _ = self._editor.cursor_location
        return trigger(self._editor.before_cursor, is_first_line=line == 0)
