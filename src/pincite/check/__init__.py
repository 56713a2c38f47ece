"""Does what a text claims to come from documents stand there?"""
