"""The program: commands by name, each loaded only when it is called."""

from __future__ import annotations

import io
import sys
from importlib import import_module

import click

# Where each command is defined, in the order of --help: module and name.
COMMANDS = {
    "ingest": "ingest:ingest",
    "search": "search:search",
    "ask": "ask:ask",
    "check": "check:check",
    "cite": "places:cite",
    "replay": "search:replay",
    "why-not": "search:why_not",
    "show": "places:show",
    "outline": "browse:outline",
    "grep": "browse:grep",
    "similar": "places:similar",
    "list": "places:list_places",
    "card": "places:card",
    "remove": "ingest:remove",
    "cell": "places:cell",
    "audit": "maintain:audit",
    "diff": "places:diff",
    "export": "maintain:export",
    "import": "maintain:load",
    "copy": "maintain:copy",
    "plan": "maintain:plan",
    "publish": "maintain:publish",
    "doctor": "doctor:doctor",
    "serve": "serve:serve",
    "keys": "serve:keys",
    "eval": "evaluate:evaluate",
    "agent": "ask:agent",
    "label": "label:label",
    "judgements": "judgements:judgements",
    "tune": "tune:tune",
    "learn": "learn:learn",
    "adapt": "learn:adapt",
    "clean": "learn:clean",
    "mcp": "serve:mcp",
}


class LazyGroup(click.Group):
    """Commands that are imported when they are called, or when --help lists them all."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        found = getattr(import_module(f"pincite.cli.{module}"), name)
        assert isinstance(found, click.Command)
        return found


@click.group(
    "pincite",
    cls=LazyGroup,
    invoke_without_command=True,
    help="Find the exact clause, table row or rule in your documents, and cite it.",
)
@click.option("--version", is_flag=True, help="Print the version and the facts of this build.")
@click.option("--json", "as_json", is_flag=True, help="With --version: print JSON for programs.")
@click.option("--install-completion", is_flag=True, help="Complete commands in your shell.")
@click.option("--show-completion", is_flag=True, help="Print the script that completes them.")
@click.pass_context
def app(
    context: click.Context,
    version: bool,
    as_json: bool,
    install_completion: bool,
    show_completion: bool,
) -> None:
    if version:
        from pincite.cli.about import show_version

        show_version(as_json=as_json)
        context.exit()
    if install_completion or show_completion:
        from pincite.cli.completion import complete

        complete(context.command, is_installed=install_completion)
        context.exit()
    if as_json:
        raise click.BadParameter("--json stands behind the command: pincite search ... --json")
    if context.invoked_subcommand is None:
        from pincite.cli.about import show_start

        show_start()


def run() -> None:
    """Run the program; an interrupt or a closed pipe ends it quietly."""
    # A name that is not UTF-8 is shown with escapes, which JSON understands as well.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = app.main(prog_name="pincite", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        sys.stderr.write("interrupted; what was finished is kept\n")
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    sys.exit(code if isinstance(code, int) else 0)
