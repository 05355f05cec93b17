"""`opencode-tui completion`: print the completion script of a shell."""

import click

from opencode_tui.cli.main import COMPLETION_VARIABLE, PROGRAM, commands
from opencode_tui.cli.terminal import print_result


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for a shell.

    \b
    opencode-tui completion bash > ~/.opencode-tui-completion
    opencode-tui completion zsh > ~/.opencode-tui-completion
    opencode-tui completion fish > ~/.config/fish/completions/opencode-tui.fish

    Source the file from ~/.bashrc or ~/.zshrc; fish finds its own.
    """
    print_result(completion_script(shell))


def completion_script(shell: str) -> str:
    """Return the script with which a shell (`bash`, `zsh` or `fish`) asks the program for completions."""
    from click.shell_completion import ShellComplete, get_completion_class  # only for this command

    script = get_completion_class(shell)
    if script is None:
        raise click.UsageError(f"no completion for {shell}")
    # That of bash would start the `bash` of PATH for its version, also one that a command has put there.
    source = ShellComplete.source(script(commands, {}, PROGRAM, COMPLETION_VARIABLE)).strip()
    if shell == "fish":  # click's script cuts a description at its first comma
        source = source.replace('string split ","', 'string split --max 1 ","')
    return source
