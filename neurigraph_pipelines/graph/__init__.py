"""The graph of nodes: names, provisioning, edges, navigation and changes."""
