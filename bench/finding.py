"""How well the place of an answer is found in real collections, beside other ways to search.

    python bench/finding.py [CHECK ...] [--data DIR] [--json]

Each check is a module of `bench/finding_checks`; without a name all of them run. What a check
measures, on which questions, and which of them were looked at while the search was written, is
said at its top. Indexes are made anew by each check, with all that its pipelines need, unless
`PINCITE_BENCH_INDEXES` names a folder to keep them in: then whoever changes how documents are
read removes them from it.
"""

from checks import run_checks

if __name__ == "__main__":
    run_checks("finding_checks", str(__doc__))
