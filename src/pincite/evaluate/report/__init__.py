"""A run as one page that needs nothing else."""
