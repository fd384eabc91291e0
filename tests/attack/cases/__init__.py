"""One file for each class of attacks; importing this one fills the list."""

import importlib
import os

for _name in sorted(os.listdir(os.path.dirname(os.path.abspath(__file__)))):
    if _name.endswith(".py") and _name != "__init__.py":
        importlib.import_module(f"cases.{_name[:-3]}")


def prepare(stage):
    """What has to lie in the home directory before the daemon starts."""
    from cases import reads

    reads.fill_home(stage)
