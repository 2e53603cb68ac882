"""The HTTP API: routes, request and response bodies, limits and errors. It decides nothing about memories."""
