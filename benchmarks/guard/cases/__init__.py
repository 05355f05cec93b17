"""The hostile sessions by kind."""

from collections.abc import Mapping

from benchmarks.guard.case import Case, Kind
from benchmarks.guard.cases.assumed import ASSUMED
from benchmarks.guard.cases.caches import CACHES
from benchmarks.guard.cases.engine import ENGINE
from benchmarks.guard.cases.grants import GRANTS
from benchmarks.guard.cases.limits import LIMITS
from benchmarks.guard.cases.mounts import MOUNTS
from benchmarks.guard.cases.new import NEW
from benchmarks.guard.cases.paths import PATHS
from benchmarks.guard.cases.programs import PROGRAMS
from benchmarks.guard.cases.records import RECORDS
from benchmarks.guard.cases.tools import TOOLS

ALL: Mapping[Kind, tuple[Case, ...]] = {
    "paths": PATHS,
    "mounts": MOUNTS,
    "programs": PROGRAMS,
    "caches": CACHES,
    "grants": GRANTS,
    "records": RECORDS,
    "limits": LIMITS,
    "tools": TOOLS,
    "new": NEW,
    "assumed": ASSUMED,
    "engine": ENGINE,
}
