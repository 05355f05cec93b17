"""Reports of what a folder's config would start or loosen, and the grant of trust."""

from typing import Literal

from opencode_tui.schema.field import Field
from opencode_tui.schema.file_path import FilePath
from opencode_tui.schema.record import Record

TrustVerdict = Literal["trusted", "changed", "unknown"]


class TrustItem(Record):
    """A file or folder by its path relative to the worktree, and its effects, one line each."""

    name: str
    effects: list[str] = Field(default_factory=list[str])
    verdict: TrustVerdict


class TrustReport(Record):
    """Everything that needs trust; `seen` is the fingerprint of the content, to which a grant is bound."""

    worktree: FilePath
    seen: str
    items: list[TrustItem] = Field(default_factory=list[TrustItem])


class TrustGrant(Record):
    """A grant for the content of a report."""

    seen: str
