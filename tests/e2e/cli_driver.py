"""Many calls of the command line in one process: reads argument lists, answers what each told."""

from __future__ import annotations

import io
import json
import sys
import traceback
from contextlib import redirect_stderr, redirect_stdout


def call(arguments: list[str]) -> tuple[int, str, str]:
    """Return exit code, standard output and standard error of one call."""
    from pincite.cli.main import run

    out, err, code = io.StringIO(), io.StringIO(), 0
    sys.argv = ["pincite", *arguments]
    with redirect_stdout(out), redirect_stderr(err):
        try:
            run()
        except SystemExit as leaving:
            code = int(leaving.code or 0)
        except BaseException:
            code = 1
            traceback.print_exc()
    return code, out.getvalue(), err.getvalue()


if __name__ == "__main__":
    json.dump([call(arguments) for arguments in json.load(sys.stdin)], sys.stdout)
