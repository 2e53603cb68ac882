"""Data that leaves a graph or enters it with permission: sharing, organisations, peers, portability, webhooks."""
