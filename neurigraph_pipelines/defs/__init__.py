"""All that Dagster sees: sensors, the ingestion job and its ops, schedules. Nothing else imports Dagster.

Modules with ops, sensors or schedules do without postponed annotations: Dagster reads them when it decorates.
"""
