"""pincite --install-completion and --show-completion: what completes commands in a shell."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from pincite.cli.terminal import tell
from pincite.model.errors import ConfigError

# Where each shell looks for scripts of the person who uses it, below the home folder.
PLACES = {
    "bash": ".local/share/bash-completion/completions/pincite",
    "zsh": ".zfunc/_pincite",
    "fish": ".config/fish/completions/pincite.fish",
}


def script(app: click.Command, shell: str) -> str:
    """Return the script that completes commands and options in a shell."""
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None
    made = found(app, {}, "pincite", "_PINCITE_COMPLETE")
    return str(made.source_template % made.source_vars()).strip() + "\n"


def complete(app: click.Command, *, is_installed: bool) -> None:
    """Print the script of this person's shell, or put it where the shell looks for it."""
    shell = Path(os.environ.get("SHELL", "")).name
    if shell not in PLACES:
        tell(("error: ", "bold red"), f"no completion for the shell {shell or '(none is set)'}")
        tell(("hint:  ", "bold"), f"set SHELL to one of: {', '.join(PLACES)}")
        raise SystemExit(ConfigError.exit_code)
    if not is_installed:
        sys.stdout.write(script(app, shell))
        return
    file = Path.home() / PLACES[shell]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(script(app, shell), encoding="utf-8")
    more = "; put ~/.zfunc into fpath before compinit runs" if shell == "zsh" else ""
    tell(f"{shell} completes pincite in a new terminal: {file}{more}")
