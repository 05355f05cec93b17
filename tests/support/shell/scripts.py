"""Random shell scripts that write files, and what they really wrote: the truth that the scanner is held against."""

import random
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from opencode_tui.engine.permission.shell.scan import Scan
from tests.support.world.waiting import PATIENCE_S

_WRITERS: tuple[str, ...] = (
    "touch {path}",
    "t\\ouch {path}",
    "'touch' {path}",
    "to''uch -- {path}",
    "$'touch' {path}",
    "/usr/bin/touch {path}",
    "command touch {path}",
    "env A=1 touch {path}",
    "nice -n 1 timeout 5 touch {path}",
    "echo a > {path}",
    "echo a >> {path}",
    "echo a >| {path}",
    "echo a &> {path}",
    "echo a >& {path}",
    "> {path}",
    ": 2> {path}",
    "cat README.md | tee {path}",
    "cp README.md {path}",
    "dd if=/dev/null of={path} status=none",
    "sort -o {path} README.md",
    "sed -n 'w {path}' README.md",
    "awk 'BEGIN {{ print 1 > \"{path}\" }}'",
    "printf x 1<> {path}",
    "exec 5> {path}",
    "cat > {path} <<EOF\na\nEOF",
    "cat <<'EOF' > {path}\n$(x)\nEOF",
    "ln -s README.md {path}",
    "mkdir {path}",
    "find . -maxdepth 0 -fprint {path}",
    "find . -maxdepth 0 -exec touch {path} \\;",
    "echo {path} | xargs touch",
    "bash -c 'touch {path}'",
    "eval touch {path}",
    "v={path}; touch $v",
    'v={path}; touch "$v"',
    "v=touch; $v {path}",
    "touch {path}{{a,b}}",
    "{{ touch,{path}; }} 2> {path}",
    "{{touch,{path}}}",
    "for i in {path}; do touch $i; done",
    "f() {{ touch $1; }}; f {path}",
    "trap 'touch {path}' EXIT",
    "x=$(touch {path})",
    "x=`touch {path}`",
    "echo <(touch {path}) > /dev/null; sleep 0.01",
    "[[ -v 'a[$(touch {path})]' ]]",
    "echo $(( $(touch {path}; echo 1) ))",
    'echo "${{nope:-$(touch {path})}}"',
    "cat <<EOF\n$(touch {path})\nEOF",
    "cat <<EOF\n`touch {path}`\nEOF",
    "bash <<< 'touch {path}'",
    "bash <<'EOF'\ntouch {path}\nEOF",
    "echo touch {path} | sh",
    "printf -v 'a[$(touch {path})]' x",
    "(cd .. && touch {name})",
    "cd ..; touch {name}; cd proj",
    "pushd .. > /dev/null; touch {name}; popd > /dev/null",
    "cd nosuch || touch ../{name}",
    "cd src && touch ../../{name}; cd ..",
    "coproc touch {path}; wait",
    "coproc N {{ touch {path}; }}; wait",
    "alias ll='touch {path}'",
    "a=({path}); touch ${{a[0]}}",
    "IFS=,; v=touch,{path}; $v",
    "set -- {path}; touch $1",
    "read v <<< {path}; touch $v",
    "git -C .. init -q {name}",
    "tar cf {path} README.md",
)
_PATHS: tuple[str, ...] = (
    "../{name}",
    "./../{name}",
    "src/../../{name}",
    "$PWD/../{name}",
    '"$PWD"/../{name}',
    "${{HOME}}/{name}",
    "~/{name}",
    "link_out/{name}",
    "{root}/out/{name}",
    "..//{name}",
    "'../'{name}",
    "..\\/{name}",
    "inside_{name}",
)
_CONTEXTS: tuple[str, ...] = (
    "{0}",
    "{0}\n",
    "{{ {0}\n}}",
    "! {{ {0}\n}}",
    "({0}\n)",
    "true && {0}",
    "false || {0}",
    "{0} & wait",
    "if true; then {0}\nfi",
    "if false; then :; else {0}\nfi",
    "while {0}\n[ 1 = 2 ]; do :; done",
    "for q in 1 2; do {0}\ndone",
    "for ((q=0;q<1;q++)); do {0}\ndone",
    "case x in (y) ;; x) {0}\n;; esac",
    "until {0}\ntrue; do :; done",
    "time {0}",
    "g() {{ {0}\n}}; g",
    "function g {{ {0}\n}}; g",
    "echo a | {{ {0}\n}}",
    "{{ {0}\n}} > /dev/null 2>&1",
    'echo "$({0}\n)" > /dev/null',
    "y=$({0}\n)",
    "# {0}",
    "echo '#' ; {0}",
    "echo a#b; {0}",
    'echo "it\'s"; {0}',
    "echo $'it\\'s'; {0}",
    "[[ a == a ]] && {0}",
    "((1)) && {0}",
    "eval ':' ; {0}",
    "! true; {0}",
    "set -e; {0}",
    "echo \\\n a; {0}",
    "select q in a; do {0}\nbreak; done <<< 1 2> /dev/null",
)


@dataclass(frozen=True, slots=True)
class World:
    """A folder `proj` with siblings `home` and `out`, and a link `proj/link_out` to the latter."""

    root: Path

    @property
    def project(self) -> Path:
        """The project's folder."""
        return self.root / "proj"

    def build(self) -> None:
        """Make it."""
        for folder in ("proj/src", "home", "out"):
            (self.root / folder).mkdir(parents=True)
        (self.project / "README.md").write_text("readme\n")
        (self.project / "link_out").symlink_to(self.root / "out")

    def outside(self) -> set[Path]:
        """Return everything outside the project."""
        return {path for path in self.root.rglob("*") if not path.is_relative_to(self.project)} - {self.project}

    def run(self, script: str) -> set[Path]:
        """Run a script with bash in the project; returns what it has made outside."""
        before = self.outside()
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.root / "home")}
        subprocess.run(
            ["bash", "-c", script],
            cwd=self.project,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE_S,
            check=False,
        )
        return self.outside() - before


def random_script(chance: random.Random, root: Path, name: Callable[[], str]) -> str:
    """Return a script of one to three nested statements; `name` gives a fresh file name each time."""
    return "\n".join(_statement(chance, root, name) for _ in range(chance.randint(1, 3)))


def _statement(chance: random.Random, root: Path, name: Callable[[], str]) -> str:
    fresh = name()
    path = chance.choice(_PATHS).format(name=fresh, root=root)
    text = chance.choice(_WRITERS).format(path=path, name=fresh)
    for _ in range(chance.randint(0, 2)):
        text = chance.choice(_CONTEXTS).format(text)
    return text


def unreported(made: set[Path], scan: Scan) -> set[Path]:
    """Return what was made although the scan neither named it, or a folder above it, nor called the script opaque."""
    if scan.opaque:
        return set()
    written = [Path(path.path) for path in scan.external if "w" in path.mode]
    return {path for path in made if not any(path.is_relative_to(known) for known in written)}
