"""``python -m pincite``: the same as ``pincite``."""

from pincite.cli.main import run

if __name__ == "__main__":
    run()
