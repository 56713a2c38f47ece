"""What vector databases have in common as the server of an index: Milvus and Chroma are drivers."""
