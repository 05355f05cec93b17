"""The hostile sessions by kind."""

from collections.abc import Mapping

from tests.benchmarks.guard.case import Case, Kind
from tests.benchmarks.guard.cases.assumed import ASSUMED
from tests.benchmarks.guard.cases.caches import CACHES
from tests.benchmarks.guard.cases.engine import ENGINE
from tests.benchmarks.guard.cases.grants import GRANTS
from tests.benchmarks.guard.cases.limits import LIMITS
from tests.benchmarks.guard.cases.mounts import MOUNTS
from tests.benchmarks.guard.cases.new import NEW
from tests.benchmarks.guard.cases.paths import PATHS
from tests.benchmarks.guard.cases.programs import PROGRAMS
from tests.benchmarks.guard.cases.records import RECORDS
from tests.benchmarks.guard.cases.tools import TOOLS

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
