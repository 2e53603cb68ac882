"""The Model Context Protocol: a memory's tools for agents. It decides nothing about memories.

- ``server`` assembles the server of the official SDK, ``tools`` has its tools by subject, ``resources`` the rest.
- ``calls`` runs what a tool does in a thread, for the caller of this one call. ``failures`` words errors.
- ``framing`` and ``budget`` show remembered text as data, within a number of tokens.
- ``http`` is the endpoint ``/mcp`` of the API server, ``stdio`` a server for one client. ``clients`` prints settings.

``mcp`` without a prefix is the SDK. Nothing here is imported by the domain or by another face.
"""
