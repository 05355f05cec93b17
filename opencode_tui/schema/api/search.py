"""Full-text search over all sessions: the request and its result."""

from typing import Annotated, Literal

from opencode_tui.schema.field import Before, Field
from opencode_tui.schema.file_path import FilePath
from opencode_tui.schema.record import Record, absent

SearchOrder = Literal["newest", "relevance"]

SearchKind = Literal["prompt", "answer", "reasoning", "tool", "files"]
"""What matched: a text of the user, one of the model, a tool call, or the list of files that a step changed."""


def _readable(text: object) -> object:
    """Return a text without halves of characters, which a terminal or an argument may have."""
    return text.encode("utf-8", "replace").decode() if isinstance(text, str) else text


class SearchRequest(Record):
    """A query; `limit` is the maximum number of hits with a snippet.

    `is_typing` means that the last word may be incomplete: from three characters on it also matches the words that begin with it.
    `is_quick` asks for a first answer: changes of the last seconds may be missing, and no similar words are searched.
    """

    query: Annotated[str, Before(_readable), Field(max_length=4_096)]
    limit: Annotated[int, Field(ge=1, le=500)] = 50
    order: SearchOrder = "newest"
    is_here: bool = False
    """Whether only sessions of the folder's project are searched."""
    is_typing: bool = False
    is_quick: bool = False


class SearchHit(Record):
    """A part that matches; `time` in ms since 1970, `marks` are the matches in the snippet as offsets in characters.

    The snippet is one line, otherwise as stored: not safe for a terminal.
    """

    message_id: str
    part_id: str
    kind: SearchKind
    tool: str | None = absent()
    time: int
    snippet: str
    marks: list[tuple[int, int]]


class SearchGroup(Record):
    """A session with hits, or whose title matches; `count` is the number of all its hits, `hits` are the first ones.

    `title` is one line, not safe for a terminal; `marks` are the matches in it. Times in ms since 1970.
    """

    session_id: str
    parent_id: str | None = absent()
    project_id: str
    directory: FilePath
    title: str
    marks: list[tuple[int, int]]
    updated: int
    archived: int | None = absent()
    count: int
    hits: list[SearchHit]


class SearchResult(Record):
    """The sessions found, those with a matching title first; `matches` counts the hits in all of them.

    With `is_capped` there are more matches, and only the newest are counted. The result is complete when `indexed` sessions are
    all of the `sessions`.
    """

    groups: list[SearchGroup]
    matches: int = 0
    is_capped: bool = False
    indexed: int = 0
    sessions: int = 0
    elapsed_ms: float = 0.0
    problem: str | None = absent()
    """Why the index cannot be written or read, with the remedy."""
    corrected: str | None = absent()
    """The similar query whose results these are, because the given one has none."""
    ignored: list[str] = Field(default_factory=list[str])
    """Filters of the query that have no meaning, such as a wrong date."""
    unknown_project: str | None = absent()
    """The name after `project:` if no searched session's project has it."""

    @property
    def is_complete(self) -> bool:
        """Return whether every session was searched as it is now."""
        return self.indexed >= self.sessions
