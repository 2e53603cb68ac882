"""The page for people: HTML, CSS and ES modules, without a build step. ``api.page`` serves these files.

``files`` is ours. ``vendored`` holds libraries of others as they were published, with their licences and checksums.
"""
