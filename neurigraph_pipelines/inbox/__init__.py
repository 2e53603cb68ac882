"""What arrives to be remembered: conversations, events, notes, uploads, imports, vaults and repositories."""
