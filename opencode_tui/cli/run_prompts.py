"""Who answers what a turn asks: the policy of the run, else the person at the terminal."""

from functools import cached_property
from typing import TYPE_CHECKING

from opencode_tui.cli.style import Style
from opencode_tui.cli.terminal import say
from opencode_tui.cli.terminal_lines import TerminalLines
from opencode_tui.engine.permission.policy import Policy
from opencode_tui.schema.error import NobodyToAskError, PermissionRefused
from opencode_tui.schema.permission import PermissionRequest

if TYPE_CHECKING:
    from opencode_tui.cli.permission_prompt import PermissionPrompt
    from opencode_tui.cli.question_prompt import QuestionPrompt
    from opencode_tui.client.client import Client


class RunPrompts:
    """How the person is asked; loaded with the first question. `policy` answers first: a server knows nothing of ours."""

    def __init__(self, lines: TerminalLines | None, client: "Client", style: Style, policy: Policy) -> None:
        self._policy = policy
        self._lines = lines
        self._client = client
        self._style = style

    @cached_property
    def permissions(self) -> "PermissionPrompt":
        """Asks whether a call may go on."""
        from opencode_tui.cli.permission_prompt import PermissionPrompt

        return PermissionPrompt(self._lines, self._client, self._style)

    @cached_property
    def questions(self) -> "QuestionPrompt":
        """Puts the agent's own questions."""
        from opencode_tui.cli.question_prompt import QuestionPrompt

        return QuestionPrompt(self._lines, self._client, self._style)

    async def settles(self, request: PermissionRequest) -> bool:
        """Answer a question without the person, if the policy can; tells whether it did."""
        try:
            if not self._policy.settle(request):
                return False
            await self._client.permissions.reply(request.id, "once")
        except PermissionRefused as error:
            await self._client.permissions.reply(request.id, "reject", str(error))
        return True


class TellRefusals:
    """Says on stderr what is refused because nobody can be asked; people read it in the tool's line instead."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def settle(self, request: PermissionRequest) -> bool:
        """Return what the policy returns. Raises PermissionRefused."""
        try:
            return self._policy.settle(request)
        except NobodyToAskError as error:
            if request.permission != "question":
                say(str(error))
            raise
