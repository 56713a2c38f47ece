"""An index as collections of MongoDB that other programs read: runs, whole or not at all."""
