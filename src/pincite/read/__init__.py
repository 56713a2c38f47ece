"""A file to a document with its structure: what does it say, and how is it numbered?"""
