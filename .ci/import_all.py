"""Import every module of the installed package, which must be below the prefix `sys.argv[1]`; a warning of ours is an error."""

import importlib
import importlib.util
import pkgutil
import sys
import warnings
from pathlib import Path

import opencode_tui

EXTRAS = {
    "distributed": ("extras.dask.pool",),
    "opentelemetry.exporter.otlp": ("extras.otel.exporter", "extras.otel.spans"),
}
"""Packages that only an extra installs, with the modules that import them."""

found = Path(opencode_tui.__file__).resolve()
if not found.is_relative_to(Path(sys.argv[1]).resolve()):
    sys.exit(f"{found} is not in {sys.argv[1]}: another installation comes first")
warnings.filterwarnings("error", module=r"opencode_tui\.")
names = [module.name for module in pkgutil.walk_packages(opencode_tui.__path__, "opencode_tui.")]
if len(names) < 500:
    sys.exit(f"only {len(names)} modules in {found.parent}")
for package, modules in EXTRAS.items():
    try:
        is_installed = importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        is_installed = False
    if not is_installed:
        for module in modules:
            names.remove(f"opencode_tui.{module}")
for name in names:
    importlib.import_module(name)
