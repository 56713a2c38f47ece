"""The version of the format that an index is written in; apart, for it is told without numpy."""

FORMAT = 3
# Format 2 has no checksum in its manifests and no layout at the end of its arrays; it is read as it
# is, and what is written next has the present format.
READABLE = (2, FORMAT)
