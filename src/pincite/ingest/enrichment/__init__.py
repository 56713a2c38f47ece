"""What a place is about: kinds, traits, terms and aliases, by profiles that are data."""
