"""Organizations: graphs that several users share, their members and invitations. The database decides about rights."""
