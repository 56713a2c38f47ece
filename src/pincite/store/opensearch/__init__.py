"""An index in OpenSearch: its rows, its vectors, one document that says which generation counts."""
