"""Webhooks: the subscriptions of owners, and the delivery of events. Triggers of the database write the events."""
