"""Learning to rank: features of a question and its candidates, labels, models and their files."""
