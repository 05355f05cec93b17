"""Every command of a command line is a member, wherever it stands."""

from tests.support.rows import each
from tests.support.shell.world import scanned


@each(
    ("command", "members"),
    [
        ("ls; rm a && cat b || pwd", ["ls", "rm a", "cat b", "pwd"]),
        ("ls | tee log |& wc", ["ls", "tee log", "wc"]),
        ("sleep 1 & ls", ["sleep 1", "ls"]),
        ("echo ok #\nrm a", ["echo ok", "rm a"]),
        ("if true; then a; elif b; then c; else d; fi", ["true", "a", "b", "c", "d"]),
        ("while read l; do rm $l; done < list", ["read l", "rm $l"]),
        ("for ((i=0;i<1;i++)); do a; done", ["a"]),
        ("case $(a) in (x) b;; *) c;; esac", ["a", "b", "c"]),
        ("{ a; b & }; (c)", ["a", "b", "c"]),
        ("! { a; }", ["{ a", "a"]),
        ("coproc NAME { a; }", ["coproc NAME { a", "a"]),
        ('echo "$(a)" `b`', ['echo "$(a)" `b`', "a", "b"]),
        ("diff <(a) >(b)", ["diff <(a) >(b)", "a", "b"]),
        ("x=$(a) y=${z:-$(b)}", ["a", "b"]),
        ("[[ $(a) ]] && (( $(b) ))", ["a", "b"]),
        ("cat <<E\n$(a) `b` ${x:-$(c)}\nE", ["cat <<E", "a", "b", "c"]),
        ("cat <<'E'\n$(a)\nE", ["cat <<'E'"]),
        ("cat <<E | sh && b\necho a\nE", ["cat <<E", "sh", "echo a", "b"]),
        ("echo `echo \\`a\\``", ["echo `echo \\`a\\``", "echo `a`", "a"]),
        ("{rm,a}", ["rm a"]),
        ("echo '$(a); b | c'", ["echo '$(a); b | c'"]),
        ("cat > x <<E\na\nE", ["cat > x <<E"]),
        ("echo k <> x", ["echo k <> x"]),
        ("ls a\n\\rm b", ["ls a", "\\rm b"]),
        ("ls |\n\t\\rm b", ["ls", "\\rm b"]),
        ("if a; then\n  \\rm b\nfi", ["a", "\\rm b"]),
        ("x=$(ls\n\\rm b)", ["ls", "\\rm b"]),
        ("ls\n\\\n\\rm b", ["ls", "\\rm b"]),
        ("ls \\\n\\rm b", ["ls \\rm b"]),
        ("echo 'a\n\\rm b'", ["echo 'a\n\\rm b'"]),
        ("cat <<E\na\n\\rm b\nE", ["cat <<E"]),
    ],
)
def test_each_command_is_a_member(command: str, members: list[str]) -> None:
    assert scanned(command).commands == members


@each(
    "line",
    [
        "echo ${x#$(rm ../f)}",
        'echo "${x%%$(rm ../f)}"',
        "echo ${x##*/$(rm ../f)}",
        "echo ${x/$(rm ../f)/b}",
        "echo ${x//[$(rm ../f)]/b}",
        'echo "${x^$(rm ../f)}"',
        "echo ${x,,$(rm ../f)}",
        "echo ${x#?($(rm ../f))}",
        "echo ${x#${z:-$(rm ../f)}}",
        "echo ${x#`rm ../f`}",
        "a=(1 ${z:-`rm ../f`})",
        "[[ a == ${x/a/`rm ../f`} ]]",
        "case a in ${x%`rm ../f`}) ;; esac",
        "for i in ${x/%a/`rm ../f`}; do ls; done",
        "echo ${x#<(rm ../f)}",
        'echo "${x/a/>(rm ../f)}"',
        "echo \"${z:-'$(rm ../f)'}\"",
        "echo $(('$(rm ../f)'))",
        'echo "costs $ $(rm ../f)"',
        'x="$ $(rm ../f)"',
        "cd src && echo ${x#$(rm ../../f)}",
    ],
)
def test_a_command_that_the_grammar_leaves_in_a_word_is_a_member(line: str) -> None:
    """The substitutions of Bash Reference Manual 5.2, 3.5.3, which bash 5.2.15 ran in each of these lines."""
    scan = scanned(line)
    assert {"rm ../f", "rm ../../f"} & {*scan.commands}
    assert ("/home/u/f", "w") in {(path.path, path.mode) for path in scan.external}


@each(
    "line",
    [
        "echo ${x#\\$(rm ../f)}",
        "echo '${x#$(rm ../f)}'",
        'echo "\\${x#\\$(rm ../f)}"',
        'echo "a <(rm ../f)"',
        "echo \"'\\$(rm ../f)'\"",
        "echo $ a",
        'echo "5 $ $x"',
    ],
)
def test_a_quoted_command_is_none(line: str) -> None:
    assert [one for one in scanned(line).commands if one.startswith("rm")] == []


@each(
    "wrapper",
    [
        "env",
        "env -i A=1",
        "env -S 'nice'",
        "sudo -u root",
        "nice -n 5",
        "timeout -s KILL 5",
        "command",
        "exec -a name",
        "nohup",
        "stdbuf -o0",
        "xargs -n1",
        "strace -o log -f",
        "flock lock",
        "busybox",
        "setsid nohup timeout 3",
        "\\time -p",
        "/usr/bin/env",
        "find . -exec",
        "bwrap --bind src src",
    ],
)
def test_what_a_wrapper_starts_is_a_member(wrapper: str) -> None:
    scan = scanned(f"{wrapper} rm -rf ../other")
    assert "rm -rf ../other" in scan.commands or wrapper == "env -S 'nice'"
    assert ("/home/u/other", "w") in {(path.path, path.mode) for path in scan.external}


@each(
    "command",
    [
        "bash -lc 'rm ../f'",
        "sudo sh -c 'rm ../f'",
        "eval rm ../f",
        "trap 'rm ../f' EXIT",
        "alias ls='rm ../f'",
        "su root -c 'rm ../f'",
        "script -qc 'rm ../f' log",
        "bash <<< 'rm ../f'",
        "bash <<'E'\nrm ../f\nE",
        "echo rm ../f | sh",
        "git -c alias.x='!rm ../f' x",
        "git rebase -x 'rm ../f' HEAD~1",
        "git submodule foreach 'rm ../f'",
        "tar --checkpoint-action=exec='rm ../f' -cf x.tar src",
        "split --filter='rm ../f' README.md",
        "ssh -oProxyCommand='rm ../f' h",
        "make SHELL='rm ../f'",
        "PAGER='rm ../f' git log",
        "[[ -v 'a[$(rm ../f)]' ]]",
        "printf -v 'a[$(rm ../f)]' x",
        "x='a[$(rm ../f)]'; echo $((x))",
        "mapfile -C 'rm ../f' -c1 a",
        "sed '1e rm ../f' README.md",
        "awk 'BEGIN{system(\"rm ../f\")}'",
    ],
)
def test_a_program_in_a_text_is_looked_into_and_opaque(command: str) -> None:
    scan = scanned(command)
    assert ("rm ../f" in scan.commands, scan.opaque) == (True, True)


def test_quoting_is_resolved_beside_the_source() -> None:
    assert [member.texts for member in scanned("r''m 'a b'; /bin/rm\tx").members] == [
        ("r''m 'a b'", "rm a b"),
        ("/bin/rm\tx", "/bin/rm x", "rm x"),
    ]


def test_a_text_that_bash_refuses_is_not_parsed() -> None:
    wrong = ["ls )", "if rm x", "echo 'open", "do rm x", "&& ls", "ls |", "$(", "ls \0rm x"]
    assert [command for command in wrong if scanned(command).parsed] == []


def test_an_empty_command_has_no_member() -> None:
    assert [scanned(command).members for command in ("", " \n\t", "# comment", "x=1", "((1))", "> x", "}")] == [[]] * 7
