"""Permission rules and requests. Evaluation lives in `engine/permission`. Source: seed 002; reference, section 27."""

from typing import Any, Literal

from pydantic import Field

from opencode_tui.schema.record import Record, absent

Action = Literal["allow", "deny", "ask"]
Reply = Literal["once", "always", "reject"]


class Rule(Record):
    """One rule. In a ruleset the last rule whose permission and pattern both match decides."""

    permission: str
    pattern: str
    action: Action


Ruleset = list[Rule]


class ToolCallRef(Record):
    """The tool call that a request belongs to."""

    message_id: str
    call_id: str


class PermissionRequest(Record):
    """A question to the person. `always` lists the patterns that an `always` reply would allow from now on."""

    id: str
    session_id: str
    permission: str
    patterns: list[str]
    metadata: dict[str, Any] = Field(default_factory=dict[str, Any])
    always: list[str] = Field(default_factory=list[str])
    tool: ToolCallRef | None = absent()


class PermissionReply(Record):
    """The answer to a request; `message` is the person's word to the model with a rejection."""

    reply: Reply
    message: str | None = absent()


class Verdict(Record):
    """What rules say of one pattern: `rule` decided it (none: nothing matched), `grant` is an `always` that covers it.

    `source` is the file (absolute) or the variable that the rule stands in; absent for one that is built in.
    """

    permission: str
    pattern: str
    action: Action
    rule: Rule | None = absent()
    source: str | None = absent()
    grant: Rule | None = absent()
    note: str | None = absent()


class PermissionReport(Record):
    """Why an act would be allowed, asked for or denied: the most restrictive verdict decides."""

    action: Action
    verdicts: list[Verdict]
    always: list[str] = Field(default_factory=list[str])


class PermissionRules(Record):
    """The rules of an agent in order (the last match wins), and what the person allowed for good in this worktree.

    `sources` tell of each rule the file (absolute) or the variable that it stands in; empty for one that is built in.
    """

    agent: str
    rules: list[Rule]
    grants: list[Rule]
    sources: list[str] = Field(default_factory=list[str])
