"""What is known of commands by their programs and options: the table `commands.txt`, one class for each heading."""

from pathlib import Path

from tests.support.rows import each
from tests.support.shell.world import outside, scanned


def _commands(heading: str) -> list[str]:
    table = Path(__file__).with_name("commands.txt").read_text(encoding="utf-8")
    lines = table.partition(f"[{heading}]\n")[2].partition("\n[")[0].splitlines()
    return [line.replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\") for line in lines if line]


@each("command", _commands("wrapper"))
def test_the_command_of_a_wrapper_is_found(command: str) -> None:
    assert "rm -rf ../other" in scanned(command).commands
    assert {("/home/u/other", "w"), ("/home/u/other", "rw")} & outside(command)


@each("command", _commands("text"))
def test_a_program_in_a_text_is_found_and_opaque(command: str) -> None:
    scan = scanned(command)
    assert (scan.opaque, "rm -rf ../other" in scan.commands) == (True, True)


@each("command", _commands("opaque"))
def test_what_can_do_anything_is_opaque(command: str) -> None:
    assert scanned(command).opaque


@each("command", _commands("network"))
def test_the_network_is_noticed(command: str) -> None:
    assert scanned(command).network


@each("command", _commands("harmless"))
def test_an_everyday_command_is_known_and_needs_nothing(command: str) -> None:
    scan = scanned(command)
    assert (scan.opaque, scan.network, scan.external, scan.sensitive) == (False, False, [], [])
    assert (scan.outside, scan.discards) == ([], [])


@each("command", _commands("secret"))
def test_files_with_secrets_are_found_behind_options_and_globs(command: str) -> None:
    assert "/home/u/proj/.env" in scanned(command).sensitive


@each("command", _commands("writes"))
def test_what_a_command_writes_outside_is_named(command: str) -> None:
    assert {("/home/u/other", "w"), ("/home/u/other", "rw")} & outside(command)


def test_files_edited_in_place_are_named_for_undo() -> None:
    edits = ["perl -pi -e s/a/b/ src/a.py", "gawk -i inplace 1 src/a.py", "sed -i s/a/b/ src/a.py"]
    assert [[("w" in used.mode, used.path) for used in scanned(edit).inside] for edit in edits] == [
        [(True, "/home/u/proj/src/a.py")]
    ] * 3
