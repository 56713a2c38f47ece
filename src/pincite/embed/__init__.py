"""Text to vectors: the encoders, the windows they see, and the cache of what they said."""
