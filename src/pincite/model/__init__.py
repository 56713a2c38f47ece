"""What all rooms speak: the grammar of places and the table of units."""
