"""Reading text out of files, in a process of its own: ``worker`` is what runs there.

A reader takes a seekable stream of bytes and yields ``(place, text)`` pairs; facts it finds on the way it puts into a
dictionary. Nothing here imports the rest of the project, whose settings and secrets have no business in that process.
"""
