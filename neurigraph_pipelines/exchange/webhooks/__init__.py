"""Webhooks: what their owners ask for, and the delivery of events. Triggers of the database write the events."""
