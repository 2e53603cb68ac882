"""The rights of callers: authentication, accounts, spaces, guards and repeated requests."""
