"""An index whose segments live in a server: what a server has to do, and all that follows."""
