"""Lists that callers read page by page, and the progress of what they sent. The database decides who sees."""
