"""Second thoughts about a ranking: late interaction, pairs, learned features, and their guards."""
