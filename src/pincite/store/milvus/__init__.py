"""Milvus as the server of an index (extra ``milvus``)."""
