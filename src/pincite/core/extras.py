"""The one place where optional packages are imported."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from pincite.core.errors import MissingExtra


def require(module: str, *, extra: str) -> ModuleType:
    """Return the imported module, or raise MissingExtra that names the install command.

    >>> require("json", extra="none").__name__
    'json'
    """
    try:
        return import_module(module)
    except ImportError as error:
        # A package that is there but breaks on import is a different story: tell it unchanged.
        if error.name is not None and error.name.split(".")[0] != module.split(".")[0]:
            raise
        raise MissingExtra(
            f"{module} is not installed", hint=f'pip install "pincite[{extra}]"'
        ) from error
