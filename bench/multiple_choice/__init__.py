"""Multiple-choice exams: how often the documents lead to the right choice, and why not."""
