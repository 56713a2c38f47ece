"""PostgreSQL with pgvector as the server of an index (extra ``postgres``)."""
