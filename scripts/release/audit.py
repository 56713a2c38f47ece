"""Are there known vulnerabilities in what a release brings along? pip-audit over the lock.

pip-audit asks a service on the network. Without one it says "No known vulnerabilities found", so
this counts what was really looked up. Exit code: 0 nothing known, 1 something known, 3 not checked.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from scripts.release import lock

CLEAN, VULNERABLE, NOT_CHECKED = 0, 1, 3


def asked(service: str) -> dict[str, Any] | None:
    """Return pip-audit's answer on the lock; None if it gave none."""
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(lock.REQUIREMENTS)]
    command += ["--no-deps", "--disable-pip", "--format", "json", "--progress-spinner", "off"]
    command += ["--vulnerability-service", service, "--timeout", "15"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        answer: dict[str, Any] = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):
        return None
    return answer


def verdict(answer: Mapping[str, Any] | None, expected: int) -> tuple[int, list[str]]:
    """Return the exit code and the lines that say what was found."""
    dependencies = answer["dependencies"] if answer else []
    looked_up = [each for each in dependencies if "vulns" in each]
    lines = [
        f"vulnerable: {each['name']} {each['version']}: {vuln['id']}"
        f" (fixed in {', '.join(vuln['fix_versions']) or 'no version'})"
        for each in looked_up
        for vuln in each["vulns"]
    ]
    if lines:
        return VULNERABLE, lines
    if len(looked_up) < expected:
        missed = f"{expected - len(looked_up)} of {expected} packages"
        return NOT_CHECKED, [f"NOT CHECKED: {missed}; no advisory service was reached"]
    return CLEAN, [f"no known vulnerability in {expected} packages"]


def main(words: Sequence[str] | None = None) -> int:
    """Ask the services until one answers; say what was found and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--allow-unreachable", action="store_true", help="exit with 0 if no service is reached"
    )
    may_miss = parser.parse_args(words).allow_unreachable
    code, lines = NOT_CHECKED, [""]
    for service in ("pypi", "osv"):
        code, lines = verdict(asked(service), len(lock.load()))
        if code != NOT_CHECKED:
            break
    print("\n".join(lines))
    return 0 if code == NOT_CHECKED and may_miss else code


if __name__ == "__main__":
    sys.exit(main())
