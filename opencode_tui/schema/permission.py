"""Permission rules and requests. Evaluated in `engine/permission`. Source: docs/internals/permissions.md#rules."""

from typing import Annotated, Any, Literal

from opencode_tui.schema.field import Field
from opencode_tui.schema.record import Record, absent

Action = Literal["allow", "deny", "ask"]
Reply = Literal["once", "always", "reject"]
Approvals = Literal["ask", "normal", "auto"]
"""How a session asks: edits and commands too, by the rules, or not at all as long as nothing leaves the sandbox."""

APPROVALS: tuple[Approvals, ...] = ("ask", "normal", "auto")
"""All modes, in the order of the key that changes it."""


ALLOWED_BEFORE = "allowedBefore"
"""The key in the metadata of a request with the number of equal answers `once`, where they are enough to suggest a rule."""


class ApprovalsMode(Record):
    """The mode of approvals of a session."""

    approvals: Approvals


Runs = Literal["sandbox", "host"]
"""Where a command runs."""


class Rule(Record):
    """One rule. In a ruleset the last rule whose permission and pattern both match decides."""

    permission: str
    pattern: str
    action: Action

    @property
    def is_built_in(self) -> bool:
        """Return whether it is a rule of the program; the user's are not, nor are those that are read from a record."""
        return False


Ruleset = list[Rule]


class RuleQuestion(Record):
    """A call to explain: a permission and its subject; `extra` rules are evaluated after all others."""

    permission: str
    subject: str
    agent: str | None = absent()
    extra: list[Rule] = Field(default_factory=list[Rule])


class ToolCallRef(Record):
    """The tool call that a request belongs to."""

    message_id: str
    call_id: str


class PermissionRequest(Record):
    """A request for approval. `always` lists the patterns that an `always` reply would allow."""

    id: str
    session_id: str
    permission: str
    patterns: list[str]
    metadata: dict[str, Any] = Field(default_factory=dict[str, Any])
    always: list[str] = Field(default_factory=list[str])
    tool: ToolCallRef | None = absent()


class OpenPermission(Record):
    """A request for approval that a client makes, for what it does itself; `always` is what an `always` reply would allow."""

    session_id: str
    permission: str
    patterns: Annotated[list[str], Field(min_length=1)]
    always: list[str] = Field(default_factory=list[str])
    metadata: dict[str, Any] = Field(default_factory=dict[str, Any])
    tool: ToolCallRef | None = absent()


class PermissionReply(Record):
    """The reply to a request; `message` is the user's feedback to the model with a rejection.

    `always` are the patterns to grant with an `always` reply; without it those of the request. With `host`, an `always` reply
    grants the host that the request suggests instead.
    """

    reply: Reply
    message: str | None = absent()
    always: list[str] | None = absent()
    host: bool | None = absent()


class Verdict(Record):
    """The decision for one pattern: by `rule` (absent: no match) or `grant`, an `always` reply that covers it.

    `source` is the file (absolute) or the variable of the rule; absent for a default rule.
    """

    permission: str
    pattern: str
    action: Action
    rule: Rule | None = absent()
    source: str | None = absent()
    grant: Rule | None = absent()
    note: str | None = absent()


class PermissionReport(Record):
    """Why a call would be allowed, asked or denied: the most restrictive verdict decides.

    For a command, `runs` is where it would run, `tier` the sandbox that works here ("none" without one), and `reasons` are why
    it needs approval, in sentences.
    """

    action: Action
    verdicts: list[Verdict]
    always: list[str] = Field(default_factory=list[str])
    runs: Runs | None = absent()
    tier: str | None = absent()
    reasons: list[str] | None = absent()
