"""All that Dagster sees: sensors, the ingestion job and its ops, schedules. Nothing else imports Dagster."""
