"""Response bodies of the HTTP API, by subject. Each field's description appears in the OpenAPI document."""
