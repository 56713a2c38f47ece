"""The program: commands by name, each loaded only when it is called."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from pincite.cli import (
    about,
    agent,
    ask,
    audit,
    cell,
    copying,
    diff,
    doctor,
    evaluation,
    exchange,
    explain,
    ingest,
    judgements,
    keys,
    label,
    learning,
    listing,
    mcp,
    publishing,
    removal,
    replay,
    search,
    serving,
    show,
    similar,
    tuning,
)
from pincite.cli.help_words import PlainGroup

app = typer.Typer(
    name="pincite",
    cls=PlainGroup,
    help="Find the exact clause, table row or rule in your documents, and cite it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command("ingest")(ingest.ingest)
app.command("search")(search.search)
app.command("ask")(ask.ask)
app.command("replay")(replay.replay)
app.command("why-not")(explain.why_not)
app.command("show")(show.show)
app.command("similar")(similar.similar)
app.command("list")(listing.listing)
app.command("remove")(removal.remove)
app.command("cell")(cell.cell)
app.command("audit")(audit.audit)
app.command("diff")(diff.diff)
app.command("export")(exchange.export)
app.command("import")(exchange.load)
app.command("copy")(copying.copy)
app.command("publish")(publishing.publish)
app.command("doctor")(doctor.doctor)
app.command("serve")(serving.serve)
app.add_typer(keys.app, name="keys", cls=PlainGroup)
app.command("eval")(evaluation.evaluate)
app.command("agent")(agent.agent)
app.command("label")(label.label)
app.add_typer(judgements.app, name="judgements", cls=PlainGroup)
app.command("tune")(tuning.tune)
app.command("learn")(learning.learn)
app.command("clean")(learning.clean)
app.command("mcp")(mcp.mcp)


@app.callback(invoke_without_command=True)
def main(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and the facts of this build.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="With --version: print JSON for programs.")
    ] = False,
) -> None:
    if version:
        about.show_version(as_json=as_json)
        raise typer.Exit
    if as_json:
        raise typer.BadParameter("--json stands behind the command: pincite search ... --json")


def run() -> None:
    """Run the program; an interrupt or a closed pipe ends it quietly."""
    # A name that is not UTF-8 is shown with escapes, which JSON understands as well.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; what was finished is kept\n")
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
