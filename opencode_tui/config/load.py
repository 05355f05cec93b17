"""Loading of the settings of a directory: every source in order, checked, gated by trust, merged.

A wrong value in a file of the user raises ConfigError; a doubtful one is a warning. A wrong definition (an agent, a command) and
what is wrong in a repository is left out with a warning, unless permission rules the user relies on would go with it. A setting
of a repository that needs trust has no effect and is listed in `ignored`. Nothing is fetched, started, imported or written.
"""

import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.config.auth import AuthStore, Credentials
from opencode_tui.config.check.consistency import check_consistency
from opencode_tui.config.check.one_source import SourceCheck
from opencode_tui.config.check.types import describe_unknown, find_unknown_keys, find_unsupported, validate_settings
from opencode_tui.config.flags import Flags, find_flag_faults
from opencode_tui.config.installed.layers import layers_of, skills_of, source_of
from opencode_tui.config.installed.store import InstalledStore
from opencode_tui.config.merge import Merged, without
from opencode_tui.config.notice import Notice, dotted
from opencode_tui.config.settings.settings import Settings
from opencode_tui.config.sources.folder import Extension, find_extensions, find_foreign_files, read_markdown
from opencode_tui.config.sources.jsonc import KeyPath
from opencode_tui.config.sources.layer import (
    MCP_FILE,
    Layer,
    Origins,
    holds_rules,
    parse_layer,
    parse_value,
    read_layer,
    read_repository_file,
    visit,
)
from opencode_tui.config.sources.locations import (
    SettingsSource,
    find_linked_rules,
    find_worktree,
    list_administrator_sources,
    list_sources,
)
from opencode_tui.config.sources.migrate import migrate, overridden
from opencode_tui.config.sources.substitute import Substitution
from opencode_tui.config.trust.gate import Gated, RepositoryFolder, is_loosening
from opencode_tui.config.trust.review import ReviewItem, review_extensions, review_settings
from opencode_tui.config.trust.store import TrustedFolder, TrustStore, Verdict, judge
from opencode_tui.config.well_known import AcceptedStore, clean_address, describe_review
from opencode_tui.schema.error import ConfigError, TrustError
from opencode_tui.schema.record import JsonObject
from opencode_tui.storage.paths import Paths

_MAPS = frozenset({"agent", "command", "mcp", "mode", "provider", "formatter", "lsp", "keybinds"})
"""The sections whose members are right or wrong each by itself."""

NAMED = "well_known"
"""The key below `experimental` in the administrator's files with the addresses of servers."""


class LoadedConfig(Struct, frozen=True):
    """The effective settings of a directory.

    `effective` are the values of `settings` under OpenCode's key names; `sources` maps dotted keys to the file or variable that
    set them last; `extensions` are the plugins, tools and skills that may be loaded, lowest precedence first.
    """

    settings: Settings
    effective: JsonObject
    sources: dict[str, str]
    warnings: list[Notice]
    ignored: list[Notice]
    extensions: list[Extension]
    worktree: Path
    servers: tuple[str, ...] = ()
    named_servers: tuple[str, ...] = ()
    """Addresses whose settings the user accepted."""


def load_config(
    *,
    paths: Paths,
    flags: Flags,
    directory: Path,
    environ: Mapping[str, str],
    draft: tuple[Path, str] | None = None,
    is_check: bool = False,
) -> LoadedConfig:
    """Return the settings of a directory; raises ConfigError. Blocks for a few milliseconds.

    What is wrong in a folder that is not trusted is left out with a warning. `draft` is the path of a source with the text to read
    instead of the file. For a check, what is wrong in the settings files of a trusted folder is an error, too.
    """
    loading = _Loading(paths=paths, flags=flags, directory=directory, environ=environ, draft=draft, is_check=is_check)
    try:
        return loading.load()
    except ConfigError as error:
        if draft is not None or not loading.may_lack_repository:
            raise
        without = _Loading(paths=paths, flags=flags, directory=directory, environ=environ, with_repository=False)
        try:
            loaded = without.load()
        except ConfigError:  # it is not the fault of the repository
            raise error from None
        fault = Notice(str(loaded.worktree), "", f"its settings are left out ({error})")
        return replace(loaded, warnings=[*loaded.warnings, fault])


class _Loading:
    def __init__(
        self,
        *,
        paths: Paths,
        flags: Flags,
        directory: Path,
        environ: Mapping[str, str],
        draft: tuple[Path, str] | None = None,
        is_check: bool = False,
        with_repository: bool = True,
    ) -> None:
        self._draft = draft
        self._is_check = is_check
        self._with_repository = with_repository
        self._paths = paths
        self._flags = flags
        self._directory = directory
        self._environ = environ
        self._worktree = find_worktree(directory)
        self._substitution = Substitution(environ=environ, home=paths.home)
        self._source_check = SourceCheck(home=paths.home, directory=directory, worktree=self._worktree)
        self._merged = Merged()
        self._layers_by_source: dict[str, Layer] = {}
        self._warnings: list[Notice] = []
        self._unsupported: list[Notice] = []
        self._ignored: list[Notice] = []
        self._filled: set[str] = set()
        self._extensions: list[Extension] = []
        self._named: tuple[str, ...] = ()

    def load(self) -> LoadedConfig:
        sources = list_sources(paths=self._paths, flags=self._flags, directory=self._directory, worktree=self._worktree)
        credentials = self._read_credentials()
        servers = self._read_servers(credentials)
        hooks = self._read_plugins()
        for source in sources:
            if self._with_repository or source.origin != "repository":
                self._read_source(source)
        self._add_flags()
        for event, groups, name in hooks:
            self._merged.put_first("hooks", event, groups, name)
        for source in list_administrator_sources(self._flags, self._directory):
            self._read_source(source)
        self._warnings += find_linked_rules(self._directory, self._worktree)
        effective, origins = self._merged.value, self._merged.present_sources()
        final = Layer(", ".join(dict.fromkeys(origins.values())) or "settings", "user", self._directory, effective)
        settings = validate_settings(final)
        themes = [source.path / "themes" for source in sources if source.kind == "folder"]
        self._warnings += check_consistency(
            settings,
            origins=Origins(origins, self._layers_by_source, self._filled),
            theme_folders=themes,
            has_password=self._flags.server_password is not None,
        )
        return LoadedConfig(
            settings=settings,
            effective=effective,
            sources=origins,
            warnings=list(dict.fromkeys([*self._warnings, *self._unsupported])),
            ignored=list(dict.fromkeys(self._ignored)),
            extensions=self._extensions,
            worktree=self._worktree,
            servers=servers,
            named_servers=self._named,
        )

    def _read_credentials(self) -> Credentials:
        """Return the stored credentials; none, with a warning, while their file is damaged."""
        try:
            return AuthStore(paths=self._paths).read()
        except ConfigError as error:
            message = str(error).removeprefix(str(self._paths.auth)).lstrip(": ")
            self._warnings.append(Notice(str(self._paths.auth), "", f"{message}; no key in it is used until then"))
            return Credentials({})

    def _read_servers(self, credentials: Credentials) -> tuple[str, ...]:
        """Merge the settings of servers that the user accepted or the administrator named; wrong ones are a warning.

        Return the addresses.
        """
        self._named = tuple(dict.fromkeys(self._find_named()))
        if not os.path.isdir(self._paths.well_known):
            return self._named

        store = AcceptedStore(paths=self._paths)
        records = [one for one in store.all() if not one.by_administrator or one.url in self._named]
        self._substitution = Substitution(environ={**self._environ, **credentials.tokens()}, home=self._paths.home)
        for record in records:
            is_named = record.url in self._named
            settings = migrate(record.settings) if is_named else store.usable(record)
            layer = Layer(record.url, "user", self._paths.well_known, settings)
            if not is_named and store.needs_review(record):
                self._ignored.append(layer.notice((), f"its settings {describe_review(record.url)}"))
            try:
                self._add(layer)
            except ConfigError as error:
                self._warnings.append(Notice(record.url, "", f"its settings are left out ({error})"))
        return tuple(dict.fromkeys([*(record.url for record in records), *self._named]))

    def _read_plugins(self) -> list[tuple[str, list[Any], str]]:
        """Merge the settings of installed plugins, and return their hooks, which are joined to those of all files.

        What is wrong in one is a warning.
        """
        if not os.path.isdir(self._paths.plugins):
            return []

        hooks: list[tuple[str, list[Any], str]] = []
        store = InstalledStore(paths=self._paths)
        try:
            for installed in store.all():
                if not store.is_on(installed.name):
                    continue
                source = source_of(installed.name)
                try:
                    package = store.read(installed)
                except ConfigError as error:
                    self._warnings.append(Notice(source, "", f"{error}; it has no effect"))
                    continue
                self._extensions += skills_of(package)
                for layer in layers_of(package):
                    self._add_of_plugin(layer)
                for event, groups in package.hooks.items():
                    for group in cast("list[JsonObject]", groups):
                        one = Layer(source, "user", package.place.final, {"hooks": {event: [group]}})
                        if self._is_valid(one):
                            hooks.append((event, [group], source))
        except ConfigError as error:
            self._warnings.append(Notice(str(self._paths.plugins), "", f"{error}; the plugins after it have no effect"))
        return list(reversed(hooks))

    def _add_of_plugin(self, layer: Layer) -> None:
        """Merge a layer of a plugin; a wrong one is left out."""
        if self._is_valid(layer):
            self._add(layer)

    def _is_valid(self, layer: Layer) -> bool:
        """Return whether the values of a plugin's layer are right; else there is a warning."""
        try:
            visit(layer.value, layer.error)
            filled = replace(layer, value=self._substitution.apply(layer).value)
            visit(filled.value, filled.error)
            validate_settings(filled, written=layer.value)
        except ConfigError as error:
            self._warnings.append(
                Notice(layer.source, "", f"{str(error).removeprefix(f'{layer.source}: ')}; it is left out")
            )
            return False
        return True

    def _find_named(self) -> Iterator[str]:
        """Yield the addresses in the administrator's files; a wrong one is a warning."""
        for source in list_administrator_sources(self._flags, self._directory):
            for layer in self._layers(source) if source.kind == "file" else ():
                experimental = layer.value.get("experimental")
                named: Any = cast("JsonObject", experimental).get(NAMED) if isinstance(experimental, dict) else None
                for url in cast("list[Any]", named) if isinstance(named, list) else ():
                    try:
                        yield clean_address(str(url))
                    except ConfigError as error:
                        self._warnings.append(layer.notice(("experimental", NAMED), str(error)))

    def _read_source(self, source: SettingsSource) -> None:
        for layer in self._layers(source):
            try:
                if layer.fault:
                    raise ConfigError(layer.fault)
                self._add(layer)
            except ConfigError as error:
                if not self._may_leave_out(source, layer):
                    raise
                what = "its MCP servers are left out" if source.path.name == MCP_FILE else "it is left out"
                reason = str(error).removeprefix(layer.source).lstrip(": ")
                self._warnings.append(Notice(layer.source, "", f"{what} ({reason})"))
        if source.kind == "folder":
            self._add_extensions(source)
            self._warnings += find_foreign_files(source.path, source.origin)

    @property
    def may_lack_repository(self) -> bool:
        """Whether the settings of the repository may be left out: the user does not trust it."""
        return not self._is_trusted

    def _may_leave_out(self, source: SettingsSource, layer: Layer) -> bool:
        """Return whether a wrong source may be left out: not where that would lift permission rules that the user relies on."""
        if source.path.name == MCP_FILE:  # of other programs too
            return True
        if self._draft is not None and source.path == self._draft[0]:
            return False
        if source.origin == "repository" and not self._is_trusted:
            return True
        if self._is_checked(layer):
            return False
        is_one_of_many = source.kind == "folder" and source.origin == "user"
        has_rules = layer.has_rules or holds_rules(layer.value)
        return (is_one_of_many or source.origin == "repository") and not has_rules

    def _is_checked(self, layer: Layer) -> bool:
        """Return whether a layer is of a settings file in a trusted folder, and nothing wrong in it is left out."""
        is_file = Path(layer.source).suffix != ".md"
        return self._is_check and layer.origin == "repository" and is_file and self._is_trusted

    def _layers(self, source: SettingsSource) -> Iterator[Layer]:
        match source.kind:
            case "text":
                yield parse_layer(source.text, source=source.name, origin=source.origin, folder=source.path)
            case "folder":
                yield from read_markdown(source.path, source.origin, root=self._root_of(source))
            case "file" if self._draft is not None and source.path == self._draft[0]:
                yield parse_layer(self._draft[1], source=source.name, origin=source.origin, folder=source.path.parent)
            case "file" if source.origin == "repository":
                yield from read_repository_file(source.path)
            case "file":
                layer = read_layer(source.path, source.origin)
                if layer is not None:
                    yield layer
                elif source.is_required:
                    raise ConfigError(
                        f"{source.name}: the file {source.path} does not exist; correct or unset the variable"
                    )

    def _root_of(self, source: SettingsSource) -> Path | None:
        """Return the folder that links of a source must stay in, None for those of the user."""
        return self._worktree if source.origin == "repository" else None

    def _add(self, layer: Layer) -> None:
        """Check one layer and merge it over the earlier ones."""
        self._warnings += [*layer.warnings, *self._shadowing(layer)]
        self._warnings += [
            layer.notice(path, f"is a former name, and {name} overrides it; remove it")
            for path, name in overridden(layer.value)
        ]
        layer = replace(layer, value=migrate(layer.value))
        if layer.origin == "repository":
            layer = self._without_wrong_parts(self._gate(layer))
        if Path(layer.source).name == MCP_FILE:
            layer = self._without_wrong_servers(layer)
        self._report_unsupported(layer)
        written = layer.value
        substituted = self._substitution.apply(layer)
        if substituted.value != written:
            layer = replace(layer, value=migrate(substituted.value))
            visit(layer.value, layer.error)
        self._warnings += substituted.warnings
        self._layers_by_source[layer.source] = layer
        unknown = find_unknown_keys(validate_settings(layer, written=written))
        self._warnings += [layer.notice(path, describe_unknown(near)) for path, near in unknown]
        self._warnings += self._source_check.check(layer, written=written)
        self._merged.add(without(layer.value, [path for path, _ in unknown]), layer.source)
        for key, value in layer.value.items():
            (self._filled.discard if written.get(key) == value else self._filled.add)(key)
        if layer.origin == "administrator" and "permission" in layer.value:
            self._merged.put_rules_last(layer.value["permission"], layer.source)

    def _without_wrong_servers(self, layer: Layer) -> Layer:
        """Return the layer of a file that other programs write too: one wrong server must not cost the others."""
        right: JsonObject = {}
        for name, entry in cast("JsonObject", layer.value.get("mcp") or {}).items():
            one = replace(layer, value={"mcp": {name: entry}})
            try:
                filled = replace(one, value=self._substitution.apply(one).value)
                visit(filled.value, filled.error)
                validate_settings(filled, written=one.value)
            except ConfigError as error:
                self._warnings.append(Notice(layer.source, "", f"the MCP server {name} is left out ({error})"))
            else:
                right[name] = entry
        return replace(layer, value={"mcp": right} if right else {})

    def _without_wrong_parts(self, layer: Layer) -> Layer:
        """Return the layer of a repository without the settings that are wrong, each of which is a warning.

        One with permission rules is kept in a trusted folder, so that it is an error.
        """
        is_one_part = Path(layer.source).suffix == ".md"
        is_elsewhere = Path(layer.source).name == MCP_FILE or self._draft is not None
        if is_one_part or is_elsewhere or self._is_checked(layer) or self._find_fault(layer) is None:
            return layer
        wrong: list[KeyPath] = []
        for key, value in layer.value.items():
            is_map = key in _MAPS and isinstance(value, dict)
            parts: list[tuple[KeyPath, JsonObject]] = [((key,), {key: value})]
            if is_map:
                parts = [((key, name), {key: {name: inner}}) for name, inner in cast("JsonObject", value).items()]
            for path, one in parts:
                fault = self._find_fault(replace(layer, value=one))
                if fault is None or (self._is_trusted and holds_rules(one)):
                    continue
                wrong.append(path)
                self._warnings.append(layer.notice(path, f"it is left out ({fault})"))
        return replace(layer, value=without(layer.value, wrong))

    def _find_fault(self, layer: Layer) -> str | None:
        """Return what is wrong in a layer, without the name of its source."""
        try:
            filled = replace(layer, value=migrate(self._substitution.apply(layer).value))
            visit(filled.value, filled.error)
            validate_settings(filled, written=layer.value)
        except ConfigError as error:
            return str(error).removeprefix(layer.source).lstrip(": ")
        return None

    def _report_unsupported(self, layer: Layer) -> None:
        known = {notice.key for notice in self._unsupported}
        self._unsupported += [notice for notice in find_unsupported(layer) if notice.key not in known]

    def _shadowing(self, layer: Layer) -> list[Notice]:
        path = Path(layer.source)
        if path.name != "opencode.jsonc" or not path.with_suffix(".json").exists():
            return []
        return [
            Notice(
                layer.source,
                "",
                "opencode.json in the same folder overrides it where both have a key; keep one of them",
            )
        ]

    def _gate(self, layer: Layer) -> Layer:
        """Return the layer without the settings that need trust, unless the repository is trusted."""
        place = RepositoryFolder(layer.folder, self._worktree, self._paths.home)
        item, gated = review_settings(layer, place)
        if not gated:
            return layer
        verdict = self._judge(item)
        if verdict == "trusted":
            return layer
        inert = [one for one in gated if is_loosening(one, self._merged.value)]
        reason = self._refusal(verdict)
        self._ignored += [replace(layer.notice(one.path, one.effect), reason=reason) for one in _distinct(inert)]
        return replace(layer, value=without(layer.value, [one.path for one in inert]))

    def _add_extensions(self, source: SettingsSource) -> None:
        found, notices = find_extensions(source.path, source.origin, root=self._root_of(source))
        self._warnings += notices
        refused: set[Path] = set()
        if source.origin == "repository" and found:
            for item, members in review_extensions(found, self._worktree):
                verdict = self._judge(item)
                if verdict != "trusted":
                    refused.update(member.path for member in members)
                    self._ignored += [
                        Notice(str(one.path), "", f"a {one.kind} that starts programs", reason=self._refusal(verdict))
                        for one in members
                    ]
        self._extensions += [extension for extension in found if extension.path not in refused]

    def _judge(self, item: ReviewItem) -> Verdict:
        return judge(self._trusted, item)

    @property
    def _is_trusted(self) -> bool:
        """Whether the user has trusted the folder; single settings of it may have changed since."""
        return self._trusted is not None

    @cached_property
    def _trusted(self) -> TrustedFolder | None:
        """What the user has trusted of the folder."""
        try:
            return TrustStore(paths=self._paths).find(self._worktree)
        except TrustError as error:
            self._warnings.append(Notice(str(self._paths.trust), "", str(error)))
            return None

    def _refusal(self, verdict: Verdict) -> str:
        if verdict == "changed":
            since = "changed since you trusted it; review with"
        else:
            since = "ignored until you trust this folder; review with"
        return f"{since} `opencode-tui trust`"

    def _add_flags(self) -> None:
        if self._flags.permission is not None:
            text = self._flags.permission
            self._add(parse_value(text, key="permission", source="OPENCODE_PERMISSION", folder=self._directory))
        for is_set, value, name in (
            (self._flags.is_autocompact_disabled, {"compaction": {"auto": False}}, "OPENCODE_DISABLE_AUTOCOMPACT"),
            (self._flags.is_prune_disabled, {"compaction": {"prune": False}}, "OPENCODE_DISABLE_PRUNE"),
            (self._flags.is_share_automatic, {"share": "auto"}, "OPENCODE_AUTO_SHARE"),
            (self._flags.is_share_disabled, {"share": "disabled"}, "OPENCODE_DISABLE_SHARE"),
        ):
            if is_set:
                layer = Layer(name, "user", self._directory, cast("JsonObject", value))
                self._report_unsupported(layer)
                self._merged.add(layer.value, name)
        if self._flags.is_share_automatic and self._flags.is_share_disabled:
            self._warnings.append(
                Notice("OPENCODE_AUTO_SHARE", "", "has no effect with OPENCODE_DISABLE_SHARE; unset one")
            )
        self._warnings += [Notice(name, "", message) for name, message in find_flag_faults(self._environ)]


def _distinct(gated: list[Gated]) -> list[Gated]:
    """Return one of each key: a string with two placeholders is gated twice."""
    return list({dotted(one.path): one for one in gated}.values())
