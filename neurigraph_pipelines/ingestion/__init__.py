"""The ingestion job: from the inbox, through storage triggers, to committed records."""
