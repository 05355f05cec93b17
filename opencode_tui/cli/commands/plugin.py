"""`opencode-tui plugin`: install, list, update and remove plugins, and how to write one (`engine/plugin/plugins.md`)."""

import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from importlib.resources import files
from typing import TYPE_CHECKING

import click

from opencode_tui.cli.environment import read_environment
from opencode_tui.cli.terminal import print_json, print_result, say
from opencode_tui.engine.plugin.describe import describe, describe_change, list_installed, runs_otherwise
from opencode_tui.engine.plugin.install import Installer, is_commit, parse_source
from opencode_tui.schema.error import ConfigError, TrustError
from opencode_tui.schema.suggest import suggest
from opencode_tui.text.safe_text import make_safe

if TYPE_CHECKING:
    from opencode_tui.engine.plugin.install import Prepared

_FORMAT = click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", help="Output format.")


def read_page() -> str:
    """Return the page about writing plugins."""
    return files("opencode_tui").joinpath("engine", "plugin", "plugins.md").read_text("utf-8").strip()


@click.group(invoke_without_command=True)
@click.pass_context
def plugin(context: click.Context) -> None:
    """Install, list, update and remove plugins; without a command print how to write one.

    A plugin brings skills, commands, agents, hooks and MCP servers, in the form of Agent Plugins 1.0.0 or of Claude Code. All that
    it brings is shown before you trust it, and nothing of it runs while it is installed.

    \b
    Examples:
      opencode-tui plugin install ./my-plugin
      opencode-tui plugin install https://example.com/plugins.git@v2 reports
      opencode-tui plugin list
    """
    if context.invoked_subcommand is None:
        print_result(read_page())


@plugin.command(short_help="Review and install a plugin.")
@click.argument("source", metavar="FOLDER|GIT[@REF]")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("-y", "--yes", is_flag=True, help="Skip confirmation; only for a commit by its whole ID.")
def install(source: str, names: Sequence[str], yes: bool) -> None:
    """Show what a plugin brings, and install it if you agree.

    FOLDER is a plugin or a marketplace on this machine, GIT a repository: an address, or OWNER/NAME on GitHub. REF is a branch, a
    tag or a commit; the commit is pinned. NAME chooses plugins of a marketplace.
    """
    with _installer() as installer:
        outside = read_environment()
        given = parse_source(source, outside.directory, outside.paths.home)
        if yes and not given.is_pinned:
            raise ConfigError(
                f"--yes needs a commit by its whole ID, as {given.address}@COMMIT; without it you are asked"
            )
        tree = installer.fetch(given)
        listed = {one.name: one for one in installer.listed(tree)}
        if not listed:
            if names:
                raise ConfigError(f"{given.address} is not a marketplace; leave out {names[0]!r}")
            _review(installer, installer.prepare(tree), is_agreed=yes)
            return
        chosen = names or (tuple(listed) if len(listed) == 1 else ())
        if not chosen:
            for one in listed.values():
                about = one.problem or " ".join(str(one.entry.get("description") or "").split())
                print_result(f"{one.name}  {about}".rstrip())
            raise ConfigError(f"{given.address} is a marketplace of {len(listed)} plugins; name those to install")
        for name in chosen:
            if name not in listed:
                raise ConfigError(f"no plugin {name!r} in {given.address}{suggest(name, list(listed))}")
            _review(installer, installer.prepare(tree, listed[name]), is_agreed=yes)


@plugin.command("list", short_help="List the installed plugins.")
@_FORMAT
def list_plugins(style: str) -> None:
    """List the installed plugins with what they bring."""
    with _installer() as installer:
        rows = list(list_installed(installer.store))
    if style == "json":
        print_json([row.to_dict() for row in rows])
        return
    if not rows:
        say("no plugin is installed; install one with `opencode-tui plugin install FOLDER|GIT`")
    for row in rows:
        name = " ".join(filter(None, [row.name, row.version]))
        commit = f" at {row.commit[:12]}" if row.commit else ""
        _print([f"{name}  {row.source}{commit}{'' if row.is_on else '  (off)'}"])
        _print(f"  {line}" for line in row.parts)
        _print(f"  left out: {line}" for line in row.problems)


@plugin.command(short_help="Switch installed plugins on.")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
def on(names: Sequence[str]) -> None:
    """Give plugins that were switched off their effect again, from the next start."""
    _switch(names, is_on=True)


@plugin.command(short_help="Switch installed plugins off.")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
def off(names: Sequence[str]) -> None:
    """Keep plugins installed without any effect, from the next start."""
    _switch(names, is_on=False)


@plugin.command(short_help="Show what changed, and install it.")
@click.argument("names", metavar="[NAME]...", nargs=-1)
def update(names: Sequence[str]) -> None:
    """Fetch plugins from their sources again, show the difference, and install it.

    It asks if something that runs has changed. A plugin that was installed at a commit stays there.
    """
    with _installer() as installer:
        known = {one.name: one for one in installer.store.all()}
        if missing := next((name for name in names if name not in known), None):
            raise ConfigError(f"no plugin {missing!r} is installed; see `opencode-tui plugin list`")
        chosen, failed = names or tuple(known), 0
        for name in chosen:
            one = known[name]
            if is_commit(one.ref) and installer.read(one) is not None:
                say(f"{name} stays at commit {one.ref[:12]}, by which it was installed; install another one")
                continue
            try:
                prepared = installer.again(one)
            except ConfigError as error:
                if len(chosen) == 1:
                    raise
                say(f"{name} is not updated: {error}")
                failed += 1
                continue
            if prepared.record.digest == one.digest and installer.read(one) is not None:
                say(f"{name} is up to date")
                continue
            _review(installer, prepared, is_agreed=False)
        if failed:
            raise ConfigError(f"{failed} of {len(chosen)} plugins were not updated, for the reasons above")


@plugin.command(short_help="Remove plugins with all their files.")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
def remove(names: Sequence[str]) -> None:
    """Remove plugins with their files and what their programs stored."""
    with _installer() as installer:
        for name in names:
            if name.startswith(".") or "/" in name or not (installer.store.folder / name).is_dir():
                raise ConfigError(f"no plugin {name!r} is installed; see `opencode-tui plugin list`")
            installer.store.remove(name)
            print_result(f"removed {name}")


def _switch(names: Sequence[str], *, is_on: bool) -> None:
    with _installer() as installer:
        for name in names:
            installer.store.switch(name, is_on=is_on)
            print_result(f"{name} is {'on' if is_on else 'off'} from the next start")


@contextmanager
def _installer() -> "Generator[Installer]":
    outside = read_environment()
    with Installer(paths=outside.paths, environ=outside.environ) as installer:
        yield installer


def _review(installer: "Installer", prepared: "Prepared", *, is_agreed: bool) -> None:
    """Show a plugin, or what it changes, ask unless nothing that runs changes, and install it. Raises TrustError."""
    name = prepared.package.name
    _print(describe(prepared))
    installed = installer.store.find(name)
    must_ask, present = True, None
    if installed is not None:
        present = installer.read(installed)
        if installed.source != prepared.record.source:
            print_result(f"It replaces {name} of {installed.source}.")
        if present is None:
            print_result(f"The files of the installed {name} are damaged or were changed. They are replaced.")
        else:
            package, before = present
            if installed.source == prepared.record.source:
                must_ask = runs_otherwise(package, before, prepared.package, prepared.files)
            print_result(f"Changes since the installed {installed.commit[:12] or 'folder'}:")
            _print(describe_change(before, prepared.files))
    if must_ask and not is_agreed:
        question = (
            "Something that runs has changed. Install this?" if present is not None else "Trust and install this?"
        )
        if not _is_at_terminal():
            raise TrustError(
                f"{name} was not installed: this is no terminal, and --yes is only for a commit by its whole ID"
            )
        if not click.confirm(question, err=True):
            raise TrustError(f"{name} was not installed")
    installer.install(prepared)
    print_result(f"installed {name}")


def _print(lines: Iterable[str]) -> None:
    """Write each as one line, whatever is in it: a line feed in a command must not look like a line of the review."""
    sys.stdout.write("".join(f"{make_safe(line)}\n" for line in lines))


def _is_at_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()  # pyright: ignore[reportUnnecessaryComparison] - None when closed
