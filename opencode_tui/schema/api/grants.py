"""Rules and grants as they are listed and changed."""

from opencode_tui.schema.field import Field
from opencode_tui.schema.permission import Rule
from opencode_tui.schema.record import Record, absent


class StoredGrant(Rule):
    """A grant with its use: when it was given and decided last (ms since 1970), and how often it decided.

    One that is not `is_on` decides nothing until it is switched on. `is_outside`: it lets commands run outside the sandbox.
    `access` is what one for a folder outside the project allows there: "read", "write", or "any" of both.
    """

    is_on: bool
    is_outside: bool = False
    access: str | None = absent()
    created: int | None = absent()
    used: int = 0
    last_used: int | None = absent()


class GrantSwitch(Record):
    """Switch the grants of a permission, or of one pattern of it, on or off."""

    permission: str
    pattern: str | None = absent()
    is_on: bool


class GrantChange(Record):
    """Give a grant another pattern."""

    permission: str
    pattern: str
    new_pattern: str = Field(min_length=1)


class PermissionRules(Record):
    """The rules of an agent in order (the last match wins), and the "always" grants of this worktree that are on.

    `sources` has the file (absolute) or the variable of each rule; empty for a default rule. `stored` are all grants with their
    use, also those that are switched off.
    """

    agent: str
    rules: list[Rule]
    grants: list[Rule]
    sources: list[str] = Field(default_factory=list[str])
    stored: list[StoredGrant] = Field(default_factory=list[StoredGrant])
