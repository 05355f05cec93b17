"""Facts of the status line that are read from outside: whether the work tree has changes, and what the user's command prints."""

import logging
from collections.abc import Callable, Coroutine

from opencode_tui.schema.api.catalog import StatusFacts
from opencode_tui.schema.error import OpencodeError
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.state.screen_settings import ScreenSettings

EVERY_MS = 30_000
"""Milliseconds after which the facts are read again without a reason; a turn that starts or ends is a reason."""

FAILED = "command failed"
"""Shown instead of the line of a command that failed."""

_log = logging.getLogger(__name__)


class OutsideFacts:
    """The facts as last read; nothing waits for them."""

    def __init__(
        self,
        control: SessionController,
        settings: Callable[[], ScreenSettings],
        do: Callable[[Coroutine[object, object, None]], None],
    ) -> None:
        self.is_dirty = False
        """Whether the work tree has changed or new files."""
        self.text = ""
        """The line of the command, safe."""
        self.has_failed = False
        self._control = control
        self._settings = settings
        self._do = do
        self._seen: object = None
        self._read_at = 0
        self._is_reading = False
        self._reported = ""

    def follow(self, now: int, changed: Callable[[], None], *, needs_branch: bool) -> None:
        """Read the facts in the background if there is a reason, or if they are old; then call `changed`."""
        control = self._control
        seen = (control.session_id, control.is_busy, control.folder.branch, control.choice.model, control.approvals)
        if self._is_reading or (seen == self._seen and now - self._read_at < EVERY_MS):
            return
        if not (self._settings().has_status_command or (needs_branch and control.folder.branch)):
            return
        self._seen, self._read_at, self._is_reading = seen, now, True
        self._do(self._read(changed, needs_branch=needs_branch))

    async def _read(self, changed: Callable[[], None], *, needs_branch: bool) -> None:
        before = (self.is_dirty, self.text, self.has_failed)
        try:
            if needs_branch and self._control.folder.branch:
                self.is_dirty = await self._has_changes()
            if self._settings().has_status_command:
                await self._run_command()
        finally:
            self._is_reading = False
        if before != (self.is_dirty, self.text, self.has_failed):
            changed()

    async def _has_changes(self) -> bool:
        try:
            return bool(await self._control.client.files.changed())
        except OpencodeError as error:  # no git, or it is too slow here: the branch is shown without a sign
            _log.warning("the state of the work tree is unknown: %s", error)
            return False

    async def _run_command(self) -> None:
        try:
            self.text = screen_line(await self._control.client.settings.status_text(self._facts()))
            self.has_failed = False
        except OpencodeError as error:
            self.text, self.has_failed = FAILED, True
            if str(error) != self._reported:  # once: the command runs again and again
                self._reported = str(error)
                raise

    def _facts(self) -> StatusFacts:
        control, shown = self._control, self._control.facts
        limit = control.choice.limit
        return StatusFacts(
            session_id=control.session_id,
            model=str(control.choice.model) if control.choice.model else None,
            agent=control.agent,
            approvals=control.approvals,
            branch=control.folder.branch,
            cost=shown.cost if shown else 0,
            context=round(shown.context / limit, 4) if shown and limit else None,
            is_running=control.is_busy,
        )
