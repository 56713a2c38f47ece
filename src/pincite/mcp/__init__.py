"""Pincite for agents: an MCP server over an index, with the official SDK (extra `mcp`)."""
