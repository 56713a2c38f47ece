"""Real servers for tests, started by the tests themselves and stopped after them."""
