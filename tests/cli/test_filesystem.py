from pathlib import Path

import pytest

from opencode_tui.engine import doctor

TABLE = r"""22 1 0:21 / / rw - ext4 /dev/vda1 rw
30 22 0:40 / /home rw shared:1 - nfs4 server:/home rw
31 30 0:41 / /home/ada/with\040blank rw - tmpfs tmpfs rw
32 22 0:42 / /mnt/share rw - cifs //server/share rw
33 22 0:43 / /mnt/far rw - fuse.sshfs host:/ rw
broken line
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/var/lib", None),
        ("/home/ada", "nfs4"),
        ("/home/ada/with blank/x", None),
        ("/homes", None),
        ("/mnt/share/x", "cifs"),
        ("/mnt/far", "fuse.sshfs"),
    ],
)
def test_the_deepest_mount_decides(tmp_path, monkeypatch, folder, kind):
    table = tmp_path / "mountinfo"
    table.write_text(TABLE)
    monkeypatch.setattr(doctor, "_TABLE", table)
    assert doctor.network_kind(Path(folder)) == kind


def test_the_folder_of_the_tests_is_local(tmp_path):
    assert doctor.network_kind(tmp_path) is None
