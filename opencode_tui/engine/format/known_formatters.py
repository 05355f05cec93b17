"""The formatters that are known, as programs from standard input to standard output; the names are OpenCode's.

A program in the project, and one that runs code of the project, runs in trusted folders only. Where commands run inside the
sandbox it does so too, as it must not be a way out for them; the other formatters run outside.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from opencode_tui.config.settings.settings import FormatterSettings
from opencode_tui.engine.project.programs import FoundProgram, ProjectPrograms
from opencode_tui.schema.api.language import FormatterState

FILE = "$FILE"
"""Is replaced by the file's path in a command."""

Lines = tuple[int, int]
"""Lines of a text, from 0: the first, and the one after the last."""

RangeArguments = Callable[[str, Sequence[Lines]], tuple[str, ...]]
"""Returns the arguments by which a program formats only these lines of a text."""


class KnownFormatter(Struct, frozen=True):
    """A formatter. With `markers` it runs by itself only where the project has one of these files.

    `runs_project_code`: its settings are programs, so it runs only in trusted folders, inside the sandbox if there is one.
    `ranges` are the endings for which `range` works; `is_single` when it accepts one range only. `is_chosen`: the settings name it;
    `is_custom`: the command, too, is theirs. With `root_marker` it starts in the nearest folder above the file that has one of this
    name.
    """

    name: str
    extensions: tuple[str, ...]
    command: tuple[str, ...]
    markers: tuple[str, ...] = ()
    root_marker: str = ""
    runs_project_code: bool = False
    range: RangeArguments | None = None
    ranges: tuple[str, ...] = ()
    is_single: bool = True
    is_whole: bool = False
    environ: Mapping[str, str] = {}
    is_chosen: bool = False
    is_custom: bool = False
    never: str = ""
    """Why one without a command is listed only."""


def _ruff(_text: str, lines: Sequence[Lines]) -> tuple[str, ...]:
    return tuple(f"--range={start + 1}:1-{end + 1}:1" for start, end in lines)


def _clang(_text: str, lines: Sequence[Lines]) -> tuple[str, ...]:
    return tuple(f"--lines={start + 1}:{end}" for start, end in lines)


def _prettier(text: str, lines: Sequence[Lines]) -> tuple[str, ...]:
    rows = text.split("\n")
    [(start, end)] = lines
    before, inside = "\n".join([*rows[:start], ""]) if start else "", "\n".join(rows[start:end])
    first = len(before.encode("utf-16-le")) // 2
    return (f"--range-start={first}", f"--range-end={first + len(inside.encode('utf-16-le')) // 2}")


_SCRIPTS = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts")
_WEB = (
    *_SCRIPTS,
    ".html",
    ".htm",
    ".css",
    ".scss",
    ".less",
    ".vue",
    ".json",
    ".jsonc",
    ".yaml",
    ".yml",
    ".md",
    ".mdx",
    ".graphql",
)
_C = (".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".m", ".mm", ".proto")
_PRETTIER = (".prettierrc", ".prettierrc.json", ".prettierrc.yaml", ".prettierrc.yml", ".prettierrc.toml", ".prettierrc.js",
             ".prettierrc.mjs", ".prettierrc.cjs", "prettier.config.js", "prettier.config.mjs", "prettier.config.cjs",
             "prettier.config.ts")  # fmt: skip

KNOWN: tuple[KnownFormatter, ...] = (
    KnownFormatter("gofmt", (".go",), ("gofmt",)),
    KnownFormatter(
        "mix", (".ex", ".exs", ".heex"), ("mix", "format", "-"), root_marker="mix.exs", runs_project_code=True
    ),
    KnownFormatter("biome", _WEB, ("biome", "format", f"--stdin-file-path={FILE}"), ("biome.json", "biome.jsonc")),
    KnownFormatter("oxfmt", _SCRIPTS, ("oxfmt", "--stdin-filepath", FILE), (".oxfmtrc.json", ".oxfmtrc.jsonc")),
    KnownFormatter(
        *("prettier", _WEB, ("prettier", "--stdin-filepath", FILE), _PRETTIER),
        runs_project_code=True,
        range=_prettier,
        ranges=(*_SCRIPTS, ".json", ".graphql"),
    ),
    KnownFormatter("zig", (".zig", ".zon"), ("zig", "fmt", "--stdin")),
    KnownFormatter(
        *("clang-format", _C, ("clang-format", f"--assume-filename={FILE}"), (".clang-format", "_clang-format")),
        range=_clang,
        ranges=_C,
        is_single=False,
    ),
    KnownFormatter("ktlint", (".kt", ".kts"), ("ktlint", "-F", "--stdin", "--log-level=none")),
    KnownFormatter(
        *("ruff", (".py", ".pyi"), ("ruff", "format", "--stdin-filename", FILE, "-")),
        ("ruff.toml", ".ruff.toml", "pyproject.toml"),
        range=_ruff,
        ranges=(".py", ".pyi"),
    ),
    KnownFormatter("air", (".R", ".r"), ("air", "format", "--stdin-file-path", FILE)),
    KnownFormatter("uv", (".py", ".pyi"), (), never="it would download ruff; name ruff instead"),
    KnownFormatter(
        *(
            "rubocop",
            (".rb", ".rake", ".gemspec", ".ru"),
            ("rubocop", "-a", "--stderr", "--fail-level", "fatal", "--stdin", FILE),
        ),
        (".rubocop.yml",),
        runs_project_code=True,
    ),
    KnownFormatter(
        *("standardrb", (".rb", ".rake", ".gemspec", ".ru"), ("standardrb", "--fix", "--stderr", "--stdin", FILE)),
        (".standard.yml",),
        runs_project_code=True,
    ),
    KnownFormatter("htmlbeautifier", (".erb",), ("htmlbeautifier",)),
    KnownFormatter("dart", (".dart",), ("dart", "format", "--stdin-name", FILE)),
    KnownFormatter("ocamlformat", (".ml", ".mli"), ("ocamlformat", f"--name={FILE}", "-"), (".ocamlformat",)),
    KnownFormatter("terraform", (".tf", ".tfvars"), ("terraform", "fmt", "-")),
    KnownFormatter("latexindent", (".tex",), ("latexindent", "-")),
    KnownFormatter("gleam", (".gleam",), ("gleam", "format", "--stdin")),
    KnownFormatter("shfmt", (".sh", ".bash"), ("shfmt", "--filename", FILE)),
    KnownFormatter("nixfmt", (".nix",), ("nixfmt",)),
    KnownFormatter("rustfmt", (".rs",), ("rustfmt", "--edition=2021"), runs_project_code=True),
    KnownFormatter("pint", (".php",), (), never="it reads no standard input; set its command, with $FILE"),
    KnownFormatter("ormolu", (".hs",), ("ormolu", "--stdin-input-file", FILE)),
)


class FormatterTable:
    """The formatters of a folder by its settings, and their programs.

    In a trusted folder programs in the worktree, and formatters that run the project's code, may run; confined in a sandbox.
    """

    def __init__(self, settings: bool | Mapping[str, FormatterSettings] | None, finder: ProjectPrograms) -> None:
        self.directory, self.worktree = finder.directory, finder.worktree
        self._finder = finder
        self._formatters = _chosen(settings)
        self._programs: dict[str, FoundProgram | None] = {}

    def find(self, path: Path) -> tuple[KnownFormatter, FoundProgram] | None:
        """Return the first formatter for a file in the worktree, and its program; None without one. Blocks for a few lookups."""
        for formatter in self._formatters if path.is_relative_to(self.worktree) else ():
            if path.suffix in formatter.extensions and self._is_enabled(formatter, path):
                program = self._program(formatter)
                if program is not None:
                    return formatter, program
        return None

    def states(self) -> list[FormatterState]:
        """Return all known formatters and those of the settings. Blocks."""
        chosen = {one.name: one for one in self._formatters}
        listed = {**{one.name: one for one in KNOWN}, **chosen}
        return [self._state(one, is_chosen=name in chosen) for name, one in listed.items()]

    def _state(self, one: KnownFormatter, *, is_chosen: bool) -> FormatterState:
        reason = self._reason(one) if is_chosen else "off"
        detail = reason if reason and one.is_chosen else None
        return FormatterState(name=one.name, extensions=list(one.extensions), enabled=not reason, detail=detail)

    def _reason(self, formatter: KnownFormatter) -> str:
        """Return why a formatter of the settings does not run in the directory; empty when it does."""
        if not formatter.command:
            return formatter.never
        if not self._is_enabled(formatter, self.directory / "x"):
            return "the project has no settings for it"
        if self._program(formatter) is None:
            return f"{formatter.command[0]} is not installed, or needs trust: `opencode-tui trust`"
        return ""

    def _is_enabled(self, formatter: KnownFormatter, path: Path) -> bool:
        if not formatter.command:
            return False
        if formatter.is_chosen or not formatter.markers:
            return True
        folders = [folder for folder in path.parents if folder.is_relative_to(self.worktree)]
        return any((folder / name).exists() for folder in folders for name in formatter.markers)

    def _program(self, formatter: KnownFormatter) -> FoundProgram | None:
        if formatter.name not in self._programs:
            runs_code = formatter.runs_project_code or (
                formatter.is_custom and self._finder.has_any(formatter.command[1:])
            )
            self._programs[formatter.name] = self._finder.find(formatter.command, runs_project_code=runs_code)
        return self._programs[formatter.name]


def _chosen(settings: bool | Mapping[str, FormatterSettings] | None) -> list[KnownFormatter]:
    """Return the formatters of the settings: all known ones for true, else those that they name; none without settings."""
    if settings is None or settings is False:
        return []
    if settings is True:
        return list(KNOWN)
    known = {one.name: one for one in KNOWN}
    chosen: list[KnownFormatter] = []
    for name, entry in settings.items():
        if entry.disabled or (name not in known and not (entry.command and entry.extensions)):
            continue
        base = known.get(name) or KnownFormatter(name, (), ())
        extensions = tuple(one if one.startswith(".") else f".{one}" for one in entry.extensions or ())
        chosen.append(
            KnownFormatter(
                name=name,
                extensions=extensions or base.extensions,
                command=tuple(entry.command) if entry.command else base.command,
                root_marker=base.root_marker,
                runs_project_code=base.runs_project_code,
                range=None if entry.command else base.range,
                ranges=base.ranges,
                is_single=base.is_single,
                is_whole=bool(entry.whole),
                environ=entry.environment or {},
                never=base.never,
                is_chosen=True,
                is_custom=bool(entry.command),
            )
        )
    return chosen
