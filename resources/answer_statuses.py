"""The meaning of statuses of answers for fetchers of users' addresses."""

MAX_REDIRECTS = 5
REDIRECTS = frozenset({301, 302, 303, 307, 308})
TRY_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
