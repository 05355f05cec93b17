"""`opencode-tui doctor`: is everything in order here?"""

import click


@click.command()
@click.option(
    "--fix", "is_fixing", is_flag=True, help="Mend what can be mended; damaged records are set aside, not deleted."
)
def doctor(is_fixing: bool) -> int:
    """Check the data folder, the store, keys, git, ripgrep, settings and models.

    The exit code is 1 when something is broken, 0 when all is well or only could be better.
    """
    from opencode_tui.cli.doctor_work import examine  # the engine is loaded only when there is work

    return examine(is_fixing=is_fixing)
