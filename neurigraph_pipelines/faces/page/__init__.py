"""The page for people: HTML, CSS and ES modules, without a build step. ``faces.api.page`` serves these files.

``files`` is ours, and ``app`` has what only the view in agents needs, which ``faces.mcp.graph_app`` makes. ``vendored``
holds libraries of others as they were published, with their licences and checksums.
"""
