"""Which settings suit these questions, and is that more than luck?"""
