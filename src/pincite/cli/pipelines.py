"""Pipelines that a command compares: presets by name, or files of settings."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from pincite.cli.options import settings_from
from pincite.core.errors import ConfigError
from pincite.core.settings import Settings


def pipelines_from(
    names: list[str], config: Path | None, sets: list[str] | None
) -> dict[str, Settings]:
    """Return the settings of each pipeline, which is a preset's name or a file of settings."""
    if len(names) < 2:
        settings = _settings(names[0] if names else None, config, sets)
        return {settings.search.pipeline: settings}
    labels = [Path(name).stem if name.endswith(".toml") else name for name in names]
    if twice := [label for label, count in Counter(labels).items() if count > 1]:
        raise ConfigError(f"two pipelines are called {twice[0]!r}", hint="rename one of the files")
    settings_of = [_settings(name, config, sets) for name in names]
    return dict(zip(labels, settings_of, strict=True))


def _settings(pipeline: str | None, config: Path | None, sets: list[str] | None) -> Settings:
    if pipeline and pipeline.endswith(".toml"):
        return settings_from(Path(pipeline), sets)
    named = [f"search.pipeline={pipeline}"] if pipeline else []
    return settings_from(config, [*named, *(sets or [])])
