"""What people, programs and agents call: HTTP, the command line, MCP, the Python client and the page."""
