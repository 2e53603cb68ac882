"""The path of a question: parse, gather, select, load, rank, view.

Faces call ``search``, and it calls ``find``, which runs the steps for a question as given. Each step is a module that
takes and returns typed values.
"""
