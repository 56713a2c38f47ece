"""Leaves modules of extras that are not installed out of the collection of doctests."""

from __future__ import annotations

from importlib.util import find_spec

# Packages of ours by the module that they cannot be imported without.
NEEDS = {
    "mcp": "mcp",
    "adapters/langchain.py": "langchain_core",
    "adapters/llama_index.py": "llama_index",
    "adapters/haystack.py": "haystack",
    "client": "httpx",
    "serve": "fastapi",
}
collect_ignore = [
    f"src/pincite/{part}" for part, module in NEEDS.items() if find_spec(module) is None
]
