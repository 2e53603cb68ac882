"""The things that callers see: one model each, for the API, MCP, the command line and the clients."""
