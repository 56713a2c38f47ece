"""One short target for each way in; ``TARGETS`` has them all."""
