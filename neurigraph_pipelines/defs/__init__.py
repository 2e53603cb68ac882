"""Everything that Dagster sees: assets, checks, jobs, ops, sensors and schedules. Nothing else imports Dagster.

Each topic's module returns its own definitions. Modules with ops, sensors or schedules must not postpone annotations:
Dagster reads them when it decorates.
"""
