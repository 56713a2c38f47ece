"""The HTTP service: search, show, ask and documents for programs, with keys and limits."""
