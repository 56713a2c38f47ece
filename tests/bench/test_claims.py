"""Every figure that README shows has its claim, and every claim its command."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import claims

ROOT = Path(__file__).parents[2]
TABLE = claims.claims(claims.PAGE.read_text(encoding="utf-8"))


def test_every_claim_has_a_command_that_exists() -> None:
    assert len(TABLE) > 15
    for claim in TABLE:
        assert claim.words and re.search(r"\d", claim.figure), claim
        for name in re.findall(r"\b(?:bench|tests|docs)/[\w/.]+", claim.command):
            assert (ROOT / name).exists(), claim
        assert re.match(
            r"(?:PINCITE_\w+=\w+ )?(?:python |pincite |pytest |make |du )", claim.command
        ), claim


def test_every_figure_of_readme_is_a_claim() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    bare = re.sub(r"```.*?```", "", readme, flags=re.DOTALL)
    shares = r"(?<![\w.])\.\d{2,3}\b|\b\d+(?:\.\d+)? (?:%|MB)"
    figures = [each.removesuffix(" %").removesuffix(" MB") for each in re.findall(shares, bare)]
    assert len(figures) >= 5
    told = " ".join(f"{claim.words} {claim.figure}" for claim in TABLE)
    for figure in figures:
        assert figure in told, f"README says {figure}; docs/bench.md has no claim of it"


def test_the_claims_are_printed_by_one_command() -> None:
    command = [sys.executable, str(ROOT / "bench/claims.py"), "--match", "the wheel"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert out.startswith("the wheel\n    → python -m scripts.release.build\n    → ")


def test_a_quick_claim_is_run_and_a_slow_one_is_not() -> None:
    assert any(claim.is_quick for claim in TABLE) and not all(claim.is_quick for claim in TABLE)
    printed = claims.run(claims.Claim("", "", "python bench/claims.py --match OHR-Bench"))
    assert any("89.0" in line for line in printed)
