"""Here is a text: what is its vector, and who is asked for it?"""
