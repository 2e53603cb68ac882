"""Who may see and change what: authentication, accounts, spaces, guards and repeated requests."""
