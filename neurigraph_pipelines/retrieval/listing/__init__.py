"""Lists that callers read page by page, and the progress of what they sent. Reads only; the database decides who sees."""
