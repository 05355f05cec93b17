"""Import every module of the installed package, which must be below the prefix `sys.argv[1]`; a warning of ours is an error."""

import importlib
import importlib.util
import pkgutil
import sys
import warnings
from pathlib import Path

import opencode_tui

found = Path(opencode_tui.__file__).resolve()
if not found.is_relative_to(Path(sys.argv[1]).resolve()):
    sys.exit(f"{found} is not in {sys.argv[1]}: another installation comes first")
warnings.filterwarnings("error", module=r"opencode_tui\.")
names = [module.name for module in pkgutil.walk_packages(opencode_tui.__path__, "opencode_tui.")]
if len(names) < 500:
    sys.exit(f"only {len(names)} modules in {found.parent}")
if importlib.util.find_spec("distributed") is None:  # the extra `cluster`
    names.remove("opencode_tui.extras.dask.pool")
for name in names:
    importlib.import_module(name)
