"""Puts the commit that a wheel or a source archive is made from into pincite/build.json."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface[Any]):
    """Called by hatchling before it builds anything."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the file; a source archive brings its own, a tree that is edited has none."""
        made = Path(self.root, "src/pincite/build.json")
        if version == "editable":
            return
        if not made.exists():
            commit = _commit(self.root)
            if not commit:
                return
            self._scratch = tempfile.TemporaryDirectory()
            made = Path(self._scratch.name, "build.json")
            made.write_text(json.dumps({"commit": commit}) + "\n", encoding="utf-8")
            made.chmod(0o644)
        inside = "src/pincite" if self.target_name == "sdist" else "pincite"
        build_data["force_include"][str(made)] = f"{inside}/build.json"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was needed for building only."""
        if hasattr(self, "_scratch"):
            self._scratch.cleanup()


def _commit(root: str) -> str:
    """Return the commit, marked if files were changed since; empty outside a repository."""

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", "-C", root, *words], capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        if Path(git("rev-parse", "--show-toplevel")).resolve() != Path(root).resolve():
            return ""  # unpacked inside somebody else's repository
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "HEAD") + (" with changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return ""
