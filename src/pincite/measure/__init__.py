"""How good is it, with which interval?"""
