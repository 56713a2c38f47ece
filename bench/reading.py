"""How well documents that nobody here wrote are read, beside other readers.

    python bench/reading.py [CHECK ...] [--data DIR] [--json]

Each check is a module of `bench/reading_checks`; without a name all of them run. What a check
measures, on which documents, and which of them were looked at while the reader was written, is
said at its top.
"""

from checks import run_checks

if __name__ == "__main__":
    run_checks("reading_checks", str(__doc__))
