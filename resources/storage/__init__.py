"""Object stores and drop places: local folders and S3."""
