"""What a folder's own files would start or loosen, for the one who decides whether they may."""

from typing import Literal

from pydantic import Field

from opencode_tui.schema.record import Record

TrustVerdict = Literal["trusted", "changed", "unknown"]


class TrustItem(Record):
    """A file or folder by its name relative to the worktree, and what it would do, a line each."""

    name: str
    effects: list[str] = Field(default_factory=list[str])
    verdict: TrustVerdict


class TrustReport(Record):
    """Everything that needs trust; `seen` stands for its content as it was read, a yes is given to that alone."""

    worktree: str
    seen: str
    items: list[TrustItem] = Field(default_factory=list[TrustItem])


class TrustGrant(Record):
    """A yes to the content that a report was about."""

    seen: str
