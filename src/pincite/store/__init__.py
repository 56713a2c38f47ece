"""The embedded store: one folder, immutable generations of segments."""
