"""The interfaces for people, programs and agents: HTTP, the command line, MCP, the Python client and the page."""
