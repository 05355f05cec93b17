"""Where the system ends what a user started at the logout, and what prevents it."""

import getpass
from pathlib import Path

import pytest

from opencode_tui.client.logout import ends_at_logout
from tests.support.rows import each

LOGIN = "0::/user.slice/user-1000.slice/session-2.scope\n"
DESKTOP = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-terminal.scope\n"
START = "systemd-run --user --scope opencode-tui"


@each(
    "group, files, lingers, expected",
    [
        (LOGIN, {}, False, ""),
        (LOGIN, {"etc/systemd/logind.conf": "[Login]\n#KillUserProcesses=yes\n"}, False, ""),
        (LOGIN, {"usr/lib/systemd/logind.conf": "KillUserProcesses=yes\n"}, True, START),
        (
            LOGIN,
            {"usr/lib/systemd/logind.conf": "KillUserProcesses=yes\n"},
            False,
            f"loginctl enable-linger, then start it with {START}",
        ),
        (LOGIN, {"etc/systemd/logind.conf": "", "usr/lib/systemd/logind.conf": "KillUserProcesses=yes"}, False, ""),
        (
            LOGIN,
            {
                "etc/systemd/logind.conf": "KillUserProcesses=yes",
                "run/systemd/logind.conf.d/20-keep.conf": "KillUserProcesses = no",
            },
            False,
            "",
        ),
        (
            LOGIN,
            {"etc/systemd/logind.conf.d/a.conf": "KillUserProcesses=1\nKillExcludeUsers=root {user}"},
            False,
            "",
        ),
        (LOGIN, {"etc/systemd/logind.conf": "KillUserProcesses=on\nKillOnlyUsers={user}"}, True, START),
        (DESKTOP, {}, False, "loginctl enable-linger"),
        (DESKTOP, {}, True, ""),
        ("0::/init.scope\n", {"etc/systemd/logind.conf": "KillUserProcesses=yes"}, False, ""),
        (None, {}, False, ""),
    ],
)
def test_the_remedy_is_named_where_a_logout_ends_the_work(
    group: str | None,
    files: dict[str, str],
    lingers: bool,
    expected: str,
    row_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LOGNAME", "someone")
    user = getpass.getuser()
    if group is not None:
        files = {**files, "proc/self/cgroup": group}
    if lingers:
        files = {**files, f"var/lib/systemd/linger/{user}": ""}
    for name, text in files.items():
        (row_path / name).parent.mkdir(parents=True, exist_ok=True)
        (row_path / name).write_text(text.format(user=user))
    assert ends_at_logout(row_path) == expected
