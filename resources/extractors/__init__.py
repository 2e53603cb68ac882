"""Extract text from files in a separate process, whose main module is ``worker``.

A reader takes a seekable stream of bytes, yields parts of its text (``grouping.Part``), and adds facts about the file
to a dictionary. Except for ``text_extractor``, no module here imports more of the project than its errors and basics of
text, so that its settings and secrets stay out of that process.
"""
