"""What `bench/reading.py` measures: one module a subject, each with `run(data)`."""
