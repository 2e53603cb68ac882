"""What every user of the database shares: statements, migrations, the secret, leases and pages of lists."""
