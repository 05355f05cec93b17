"""`opencode-tui doctor`: is everything in order here?"""

import click


@click.command()
@click.option(
    "--fix", "is_fixing", is_flag=True, help="Mend what can be mended; damaged records are set aside, never deleted."
)
def doctor(is_fixing: bool) -> int:
    """Check the store, git, ripgrep, the settings and the models; exit code 1 when something is amiss."""
    from opencode_tui.cli.doctor_work import examine  # the engine is loaded only when there is work

    return examine(is_fixing=is_fixing)
