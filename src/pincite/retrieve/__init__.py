"""From a query to candidates."""
