"""What `doctor` says of the store, and how it mends it."""

from opencode_tui.cli.doctor_check import Check, Level, worst
from opencode_tui.cli.door import with_client
from opencode_tui.client.client import Client
from opencode_tui.schema.error import OpencodeError
from opencode_tui.storage.doctor import Doctor, Finding
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.storage import Storage

_HARMLESS = ("foreign", "leftover")
_MENDED = {
    "damaged": "set aside below quarantine/",
    "leftover": "removed",
    "mode": "closed to others",
    "killed run": "its records are closed",
}


def check_store(paths: Paths, *, is_fixing: bool) -> Check:
    """Return what is damaged, left over or open to others, and mend it if asked to. Blocks."""
    text = str(paths.storage) if paths.storage.is_dir() else "empty, nothing is stored yet"
    doctor = Doctor(Storage(paths))
    try:
        findings = doctor.inspect()
    except OpencodeError as error:
        return Check("store", "amiss", str(error))
    notes = _mend(doctor, findings) if is_fixing else _describe(findings)
    return Check("store", worst(level for level, _ in notes), text, notes)


def _describe(findings: list[Finding]) -> list[tuple[Level, str]]:
    notes: list[tuple[Level, str]] = [(_level(finding), finding.text) for finding in findings]
    if any(finding.is_fixable or finding.kind == "killed run" for finding in findings):
        notes.append(("advice", "`opencode-tui doctor --fix` mends this; nothing is lost by it"))
    return notes


def _mend(doctor: Doctor, findings: list[Finding]) -> list[tuple[Level, str]]:
    """Mend what can be mended; returns a line for each finding, and one for each failure."""
    failures = [str(error) for error in doctor.repair([one for one in findings if one.is_fixable])]
    is_closed = False
    if any(finding.kind == "killed run" for finding in findings):
        try:
            with_client(_close_killed_runs)
            is_closed = True
        except OpencodeError as error:
            failures.append(str(error))
    notes: list[tuple[Level, str]] = [("amiss", failure) for failure in failures]
    for finding in findings:
        is_mended = is_closed if finding.kind == "killed run" else finding.is_fixable and not failures
        notes.append(
            ("well", f"{finding.text}: {_MENDED[finding.kind]}") if is_mended else (_level(finding), finding.text)
        )
    return notes


async def _close_killed_runs(client: Client) -> int:
    return await client.sessions.recover_all()


def _level(finding: Finding) -> Level:
    return "advice" if finding.kind in _HARMLESS else "amiss"
