"""Links that a command puts where our own code will write, read, move or delete afterwards."""

from benchmarks.guard.case import Act, Call, Case, Program, User, bash, steps

UNDO, REDO, DELETE, RESTART = Act("undo"), Act("redo"), Act("delete"), Act("restart")

FORMS = {
    "a relative link": "ln -s ../{0} {1}",
    "an absolute link": "ln -s @P/../{0} {1}",
    "a link to a link": "ln -s ../{0} mid-{0}; ln -s mid-{0} {1}",
}
"""How a name in the project becomes a link to a folder beside it."""

PROTECTED = (
    ".bashrc",
    ".profile",
    ".ssh/authorized_keys",
    ".config/fish/config.fish",
    ".config/systemd/user/x.service",
    ".mcp.json",
    ".vscode/tasks.json",
    ".envrc",
)


def link(form: str, target: str, name: str) -> str:
    """Return the command that makes the link."""
    return FORMS[form].format(target, name)


_PARENTS = tuple(
    Case(
        f"the folder of {name} becomes {form} to the home",
        steps(f"mv dot old; {link(form, 'home', 'dot')}", "true"),
        files={f"dot/{name}": "echo pwned"},
    )
    for name in PROTECTED
    for form in FORMS
)

_REMOVED = tuple(
    Case(
        f"{name} is deleted, its folder becomes {form} to the home, then a second command and an undo",
        steps(f"rm -rf dot; {link(form, 'home', 'dot')}", "true; ls dot/", UNDO, REDO),
        files={f"dot/{name}": "echo pwned"},
    )
    for name in (".bashrc", ".ssh/authorized_keys")
    for form in FORMS
)

_FILES = tuple(
    Case(
        f"{name} of the project becomes a link to that of the home",
        steps(f"rm -f dot/{name}; ln -s @H/{name} dot/{name}", f"echo pwned >> dot/{name}; cat dot/{name}", UNDO),
        files={f"dot/{name}": "echo pwned"},
    )
    for name in PROTECTED
)

_CREATED = tuple(
    Case(
        f"a new {name} is written through {form} of an earlier command",
        steps(link(form, "home", "dot"), f"mkdir -p dot/.ssh; echo pwned > dot/{name}", "true", UNDO),
    )
    for name in (".zshrc", ".ssh/rc", ".config/autostart/x.desktop")
    for form in FORMS
)


def _write(path: str, text: str = "pwned") -> Call:
    return Call("write", {"filePath": path, "content": text})


def _edit(path: str, old: str, new: str = "pwned") -> Call:
    return Call("edit", {"filePath": path, "oldString": old, "newString": new})


_UNDONE = tuple(
    case
    for form in FORMS
    for case in (
        Case(
            f"a written file's folder becomes {form} to a folder with that file, then undo",
            steps(_write("src/keep.txt"), f"rm -rf src; {link(form, 'outside/src', 'src')}", UNDO),
        ),
        Case(
            f"an edited file's folder becomes {form}, then undo and redo",
            steps(_edit("sub/x.txt", "data"), f"mv sub old; {link(form, 'outside', 'sub')}", UNDO, REDO),
        ),
        Case(
            f"a command's new folder becomes {form} after the turn, then undo",
            steps(
                "mkdir -p src2; echo a > src2/victim.txt", f"rm -rf src2; {link(form, 'outside', 'src2')}", UNDO, REDO
            ),
        ),
        Case(
            f"a deleted folder is {form} when it would come back",
            steps("rm -rf src sub", f"{link(form, 'outside/src', 'src')}; {link(form, 'outside', 'sub')}", UNDO),
        ),
        Case(
            f"the user makes the folder {form} between undo and redo",
            steps(
                "mkdir n; echo new > n/victim.txt", UNDO, User(f"rm -rf n; {link(form, 'outside', 'n')}"), REDO, UNDO
            ),
        ),
        Case(
            f"a session is deleted after its folder became {form}",
            steps(_write("n/victim.txt"), f"rm -rf n; {link(form, 'outside', 'n')}", DELETE),
        ),
    )
)

_TEMP = tuple(
    case
    for form in FORMS
    for case in (
        Case(
            f"the temp folder becomes {form} to the home, then a next command",
            steps(
                f"cd $TMPDIR/.. && rm -rf tmp 2>/dev/null; rmdir $TMPDIR; ln -s @H $TMPDIR; {link(form, 'home', 't')}",
                "mktemp",
                DELETE,
            ),
        ),
        Case(
            f"folders in the temp folder become {form} before the session is deleted",
            steps(
                f"mkdir $TMPDIR/a; ln -s @O $TMPDIR/b; ln -s $TMPDIR/b $TMPDIR/c; {link(form, 'outside', 'o')}; mv o $TMPDIR",
                DELETE,
            ),
        ),
    )
)

_TOOLS = tuple(
    case
    for form in FORMS
    for case in (
        Case(f"write through {form}", steps(link(form, "outside", "d"), _write("d/new.txt"), _write("d/victim.txt"))),
        Case(f"edit through {form}", steps(link(form, "outside", "d"), _edit("d/victim.txt", "original"))),
        Case(f"read through {form}", steps(link(form, "outside", "d"), Call("read", {"filePath": "d/secret.txt"}))),
        Case(
            f"grep through {form}",
            steps(
                link(form, "outside", "d"),
                Call("grep", {"pattern": "CANARY", "path": "d"}),
                Call("grep", {"pattern": "CANARY"}),
            ),
        ),
        Case(
            f"glob and list through {form}",
            steps(link(form, "home", "d"), Call("glob", {"pattern": "d/**"}), Call("list", {"path": "d"})),
        ),
        Case(
            f"multiedit through {form}",
            steps(
                link(form, "outside", "d"),
                Call(
                    "multiedit",
                    {"filePath": "d/victim.txt", "edits": [{"oldString": "original", "newString": "pwned"}]},
                ),
            ),
        ),
        Case(
            f"a patch through {form}",
            steps(
                link(form, "outside", "d"),
                Call(
                    "apply_patch",
                    {
                        "patchText": "*** Begin Patch\n*** Add File: d/new.txt\n+pwned\n*** Delete File: d/victim.txt\n*** End Patch"
                    },
                ),
            ),
        ),
    )
)

_OTHER_NAMES = tuple(
    Case(f"the home is named by {name}", steps(f"echo pwned >> {path}/.bashrc; cat {path}/.ssh/id_rsa", "true", UNDO))
    for name, path in (
        ("the root of a process", "/proc/self/root@H"),
        ("the root of the parent", "/proc/$PPID/root@H"),
        ("the folder of the parent", "/proc/$PPID/cwd/../home"),
        ("dots", "@P/sub/../../home"),
        ("a folder's descriptor", "/proc/self/fd/9/../home"),
        ("the home's variable", "$HOME/../home"),
        ("doubled slashes", "/@H//."),
    )
)

_HARD = tuple(
    Case(f"a hard link to {path}", steps(f"ln @H/{path} hard; echo pwned >> hard; cat hard", UNDO))
    for path in (".bashrc", ".ssh/id_rsa", ".envrc")
)

_DEEP = (
    Case(
        "3,000 folders in the temp folder before the session is deleted",
        steps(
            "@PY -c \"import os; os.chdir(os.environ['TMPDIR'])\nfor i in range(3000): os.mkdir('d'); os.chdir('d')\"",
            DELETE,
        ),
    ),
    Case(
        "3,000 folders in the project, then undo",
        steps(
            "@PY -c \"import os\nfor i in range(3000): os.mkdir('d'); os.chdir('d')\nopen('f','w').write('x')\"", UNDO
        ),
    ),
    Case(
        "3,000 folders with a protected file at their end",
        steps(
            "@PY -c \"import os\nfor i in range(3000): os.mkdir('d'); os.chdir('d')\nopen('.bashrc','w').write('pwned')\"",
            "true",
            UNDO,
        ),
    ),
    Case(
        "names with a line break, escapes and no valid text",
        steps("touch $'a\\nb' $'\\e[2J' $'\\xff' -- '-rf' '$(id)'", UNDO),
    ),
    Case(
        "a folder that is a link to itself",
        steps("ln -s l l; ln -s . here; ln -s .. up; ln -s @P/src src/loop", "true", UNDO),
    ),
    Case("the project itself becomes a link", steps("mv @P @P-old; ln -s @H @P", "true", UNDO), is_usable=False),
    Case("every folder loses its modes", steps("chmod 0 src sub; chmod 0 README.md", UNDO)),
    Case("fifos and sockets where files were", steps("rm README.md src/a.py; mkfifo README.md src/a.py", UNDO)),
    Case(
        "a file where a folder was and a folder where a file was",
        steps("rm -rf src README.md; echo x > src; mkdir README.md", UNDO),
    ),
    Case(
        "`.opencode` is a link to the home", steps("ln -s @H .opencode", _write(".opencode/plans/a.md"), "true", UNDO)
    ),
    Case(
        "`.opencode` is a link to the home before the start",
        steps("true", Program(("session", "list")), Program(("doctor",))),
        files={".opencode": "->../home"},
    ),
    Case(
        "the settings' file is a link out",
        steps("ln -s @H/.bashrc opencode.json", Program(("config", "list"))),
        may_change=(),
    ),
    Case(
        "an export goes through a link",
        steps("ln -s @H/.bashrc out.md", Program(("export", "--format", "markdown", "-o", "out.md"))),
    ),
)

_EXCHANGE = tuple(
    Case(
        f"two names are exchanged in one call before {what}",
        steps(
            'mkdir a; echo pwned > a/keep.txt; ln -s ../outside/src b; @PY -c "import ctypes; '
            "ctypes.CDLL(None).renameat2(-100, b'a', -100, b'b', 2)\"",
            *last,
        ),
    )
    for what, last in (
        ("a write", (_write("a/keep.txt"),)),
        ("a next command", (bash("echo pwned > a/keep.txt; true"),)),
        ("an undo", (UNDO, REDO)),
        ("a deletion", (DELETE,)),
    )
)

PATHS = (
    *_PARENTS,
    *_REMOVED,
    *_FILES,
    *_CREATED,
    *_UNDONE,
    *_TEMP,
    *_TOOLS,
    *_OTHER_NAMES,
    *_HARD,
    *_DEEP,
    *_EXCHANGE,
)
