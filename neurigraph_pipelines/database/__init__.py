"""The parts that all users of the database share: statements, migrations, the secret, leases and pages of lists."""
