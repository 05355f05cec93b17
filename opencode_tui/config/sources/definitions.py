"""The one search for definitions in a folder: agents, modes, commands, plugins, tools and skills.

Links are followed, each real folder once, so that a circle of links ends; in a project links to folders only where they stay in it.
A link to a file is for the caller to judge. Hidden names, such as the lock files of editors, are no definitions.
"""

import os
from collections import deque
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, field

from opencode_tui.config.notice import Notice
from opencode_tui.config.sources.project_file import find_objection

MAX_FILES = 5000
"""Most files and folders that are examined in one folder; more indicate a wrong path."""

_NOT_ENTERED = frozenset({"node_modules", "__pycache__", ".git"})


class Definitions(Struct, frozen=True):
    """The files that were found, those of the folder itself before those behind links to folders, and what was left out."""

    files: list[Path] = field(default_factory=list[Path])
    notices: list[Notice] = field(default_factory=list[Notice])


def find_definitions(
    top: Path,
    is_wanted: Callable[[str], bool],
    *,
    root: Path | None = None,
    is_flat: bool = False,
    enters_hidden: bool = False,
) -> Definitions:
    """Return the files below a folder whose name is wanted, sorted, those of a folder before those of its folders. Blocks.

    `root` is the real folder of the project that the folder belongs to: folders out of it, or of secrets, are left out. With
    `is_flat` no folder below is entered, with `enters_hidden` hidden ones too, but for `.git`.
    """
    found = Definitions()
    pending = deque([top])
    linked: deque[Path] = deque()
    seen: set[tuple[int, int]] = set()
    count = 0
    while pending or linked:
        folder = pending.popleft() if pending else linked.popleft()
        try:
            status = os.stat(folder)
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            with os.scandir(folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            found.notices.append(Notice(str(folder), "", f"cannot be read ({error.strerror}); it is left out"))
            continue
        for entry in listed:
            if (count := count + 1) > MAX_FILES:
                words = f"contains more than {MAX_FILES} files; the rest is left out; is it the right folder?"
                found.notices.append(Notice(str(top), "", words))
                return found
            is_folder = _is_folder(entry)
            if entry.name.startswith(".") and not (is_folder and enters_hidden):
                continue
            path = Path(entry.path)
            is_link = entry.is_symlink()
            wanted = is_wanted(entry.name) and not is_folder
            if is_link and not is_folder and not os.path.exists(path):
                found.notices.append(Notice(str(path), "", "broken symlink; remove or repair it; it is left out"))
                continue
            if not wanted and (not is_folder or is_flat or entry.name in _NOT_ENTERED):
                continue
            if wanted:
                found.files.append(path)
            elif root is not None and is_link and (objection := find_objection(path, root)) is not None:
                found.notices.append(Notice(str(path), "", f"it is left out, because {objection}"))
            else:
                (linked if is_link else pending).append(path)
    found.files.sort(key=lambda path: [*((1, part) for part in path.parts[:-1]), (0, path.name)])
    return found


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a circle of links
        return False
