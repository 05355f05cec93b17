"""`opencode-tui plugin`: how to write a plugin. The text is `engine/plugin/plugins.md`."""

from importlib.resources import files

import click

from opencode_tui.cli.terminal import print_result


class _Page(click.Command):
    """A command whose help is the whole page."""

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the page as it is."""
        formatter.write(f"{read_page()}\n")


def read_page() -> str:
    """Return the text of the page."""
    return files("opencode_tui").joinpath("engine", "plugin", "plugins.md").read_text("utf-8").strip()


@click.command(cls=_Page)
def plugin() -> None:
    """Print how to write a plugin: its hooks, their arguments, and an example."""
    print_result(read_page())
