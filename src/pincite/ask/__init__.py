"""From a question to an answer with citations that were checked before they are shown."""
