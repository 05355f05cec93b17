"""Suggests files, agents and commands for the text before the cursor, and inserts the one that is chosen."""

import asyncio
from collections.abc import Sequence, Set
from contextlib import suppress

from opencode_tui.client.client import Client
from opencode_tui.schema.error import OpencodeError
from opencode_tui.tui.prompt.completion import Completer, Completion, Trigger, trigger, with_symbols
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
        self._closed_for: Trigger | None = None
        """What completions were closed for: they stay so until another text is typed."""

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
        if wanted is None:
            self._wanted = self._found_for = self._closed_for = None
            self._completer.reset()
            self.completions.show(())
        elif wanted != self._closed_for:
            self._closed_for = None
            found = await self._show(wanted)
            symbols = await self._completer.find_symbols(wanted)  # the next key ends this wait
            if symbols and self._wanted == wanted:
                self.completions.show(with_symbols(found, symbols), is_longer=True)

    async def show_now(self) -> None:
        """Show completions for a text that was typed just now, without symbols: the key behind it is for them."""
        wanted = self._trigger()
        if wanted is not None and wanted not in (self._found_for, self._closed_for):
            with suppress(TimeoutError, OpencodeError):  # the key is for the prompt
                async with asyncio.timeout(WRITTEN_S):
                    await self._show(wanted)

    async def _show(self, wanted: Trigger) -> Sequence[Completion]:
        """Show completions, unless other ones are wanted once they are found; return them."""
        self._wanted = wanted
        found = await self._completer.find(wanted)
        if self._wanted == wanted:
            self._found_for = wanted
            self.completions.show(found)
        return found

    def run(self, action_id: str) -> bool:
        """Run an action of the shown completions; return whether it did anything."""
        match action_id:
            case "completion_up":
                self.completions.move(-1)
            case "completion_down":
                self.completions.move(1)
            case "completion_close":
                self._wanted, self._closed_for = None, self._trigger()
                self.completions.show(())
            case "completion_insert" | "completion_send":
                return self.accept(send=action_id == "completion_send")
            case _:
                return False
        return True

    def accept(self, *, send: bool) -> bool:
        """Insert the selected completion; one that is typed whole, or a text typed since then, is left for sending."""
        chosen, wanted, editor = self.completions.chosen, self._trigger(), self._editor
        is_current = wanted == self._found_for
        self._wanted = self._found_for = None
        self.completions.show(())
        if chosen is None or wanted is None or (send and not is_current):
            return False
        if not is_current:
            return True
        if send and chosen.insert.strip() == f"{'/' if wanted.kind == 'command' else '@'}{wanted.query}":
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
