"""Everything that Dagster sees: assets, checks, jobs, ops, sensors and schedules. Nothing else imports Dagster.

Dagster loads each module of this folder. A folder is a topic and the group of its assets; ``shared`` defines nothing.
Modules with ops, sensors or schedules must not postpone annotations: Dagster reads them when it decorates.
"""
