"""How good answers are: short answers, yes or no, cells, figures, and questions without an answer.

    python bench/answers.py [CHECK ...] [--questions N] [--data DIR] [--json]

Each check is a module of `bench/answers_checks`; without a name all of them run. What is asked is
the index as a user asks it (`Index`, `Asker`), with the settings of the environment
(`PINCITE_SEARCH__PRESET=lexical` needs no vectors). `--questions` asks that many questions of a
set, chosen by the hash of their text, so that a larger number has all of a smaller one's.
Indexes are made anew by each check, unless `PINCITE_BENCH_INDEXES` names a folder to keep them in:
then whoever changes how documents are read removes them from it. Nothing is trained on these sets.
"""

from checks import run_checks

if __name__ == "__main__":
    run_checks("answers_checks", str(__doc__))
