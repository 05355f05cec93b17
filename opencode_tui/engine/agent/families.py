"""Which prompt a model gets: the family of the model and the header of its provider, by a table that the user can override.

The table is `prompts/families.json`; of its rules that match a model the last one counts, for the family and the header apart. The
setting `prompts` (pattern to family) overrides it, also with its last match. A file `prompts/FAMILY.md` in the user's
configuration folder (or OPENCODE_CONFIG_DIR) replaces the text of a family or defines a new one, `prompts/provider/PROVIDER.md`
the header. Source: docs/internals/loop.md#system-prompt.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct, field
from msgspec.json import decode
from msgspec.structs import replace

from opencode_tui.config.settings.section import PROMPT_PATTERN
from opencode_tui.config.sources.text_file import UnreadableFileError, read_text
from opencode_tui.engine.provider.model_pattern import name_of
from opencode_tui.schema.model import Model, PromptSource
from opencode_tui.schema.tools import EditForm

_NAME = re.compile(PROMPT_PATTERN)
"""Names that may become part of a path."""

_FOLDER = Path(__file__).parent / "prompts"
_BUILT_IN = _FOLDER / "family"


class _Rule(Struct, frozen=True):
    match: tuple[str, ...]
    family: str | None = None
    header: str | None = None
    source: str | None = None


class _Table(Struct, frozen=True):
    families: dict[str, str]
    patches: frozenset[str]
    """The families whose models change files by patches."""
    models: tuple[_Rule, ...]


@cache
def _table() -> _Table:
    return decode((_FOLDER / "families.json").read_bytes(), type=_Table)


def built_in_families() -> list[str]:
    """Return the names of the families that have a text of ours. Blocks for a small file, once."""
    return list(_table().families)


class ModelPrompt(Struct, frozen=True):
    """The texts of a model; `header` is empty for most. `source` says where they are from."""

    header: str
    text: str
    source: PromptSource


def _read_own(path: Path) -> str | None:
    """Return the text of a file of the user; None when it cannot be read."""
    try:
        return read_text(str(path)).strip()
    except (UnreadableFileError, FileNotFoundError):
        return None


class ModelPrompts(Struct, frozen=True):
    """Chooses the prompts of models; `folders` are the user's, the first has precedence; `chosen` is the setting."""

    folders: Sequence[Path] = ()
    chosen: Mapping[str, str] = field(default_factory=dict[str, str])
    read: Callable[[Path], str | None] = _read_own

    def of(self, model: Model) -> ModelPrompt:
        """Return the prompt of a model. Reads the user's files; one that cannot be read counts as absent. Blocks."""
        family, rule = self._family(model)
        header, header_file = self._header(model)
        own = self._own(f"{family}.md")
        file = own[0] if own else _BUILT_IN / f"{family}.md"
        source = PromptSource.trusted(family=family, file=str(file), rule=rule, header=header_file)
        return ModelPrompt(header, own[1] if own else _built_in(family), source)

    def form_of(self, model: Model) -> EditForm:
        """Return how the model changes files, by its family; one of the user's replaces text. Blocks where `of` does."""
        return "patch" if self._family(model)[0] in _table().patches else "replace"

    def with_sources(self, models: Sequence[Model]) -> list[Model]:
        """Return the models, each with the source of its prompt. Reads each file of the user once. Blocks."""
        prompts = replace(self, read=cache(self.read))
        return [model.changed(prompt=prompts.of(model).source) for model in models]

    def problems(self) -> Iterator[str]:
        """Yield a line for each choice that has no effect and for each unreadable file of the user. Blocks."""
        for pattern, family in self.chosen.items():
            if not self._exists(family):
                names = ", ".join(built_in_families())
                place = f", or write {self.folders[0] / f'{family}.md'}" if self.folders else ""
                yield f"prompts.{pattern}: no prompt {family!r}; choose one of {names}{place}"
        for folder in self.folders:
            for path in sorted(folder.glob("*.md")) + sorted((folder / "provider").glob("*.md")):
                try:
                    read_text(str(path))
                except (UnreadableFileError, FileNotFoundError) as error:
                    yield f"{path}: not used as a prompt: {error}"

    def _family(self, model: Model) -> tuple[str, str]:
        """Return the family and the rule that decides it."""
        name = name_of(model)
        for pattern, family in reversed(list(self.chosen.items())):
            if name.matches(pattern) and self._exists(family):
                return family, f"prompts.{pattern}"
        for rule in reversed(_table().models):
            for pattern in rule.match:
                if rule.family and name.matches(pattern):
                    return rule.family, pattern
        raise AssertionError("the table has a rule for every model")

    def _header(self, model: Model) -> tuple[str, str | None]:
        """Return the header and its origin: the user's file or the pattern of the table."""
        if _NAME.fullmatch(model.provider_id) and (own := self._own(f"provider/{model.provider_id}.md")):
            return own[1], str(own[0])
        name = name_of(model)
        for rule in reversed(_table().models):
            for pattern in rule.match:
                if rule.header and name.matches(pattern):
                    return rule.header, pattern
        return "", None

    def _exists(self, family: str) -> bool:
        if not _NAME.fullmatch(family):
            return False
        return family in _table().families or self._own(f"{family}.md") is not None

    def _own(self, name: str) -> tuple[Path, str] | None:
        """Return the user's file and its text; None without a readable one."""
        for folder in self.folders:
            if text := self.read(folder / name):
                return folder / name, text
        return None


@cache
def _built_in(family: str) -> str:
    return (_BUILT_IN / f"{family}.md").read_text(encoding="utf-8").strip()
