"""Hostile input made by hand, one kind a module; ``fuzz/hostile.py`` tries it all."""
