"""From a query to ordered candidates: one table, and a list of stages that fill its columns."""
