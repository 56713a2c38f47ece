"""How good is it? Measures, question sets, intervals."""
