"""Fuzzing: every way into the program, with the law that must hold for any bytes whatever."""
