"""What statuses of answers mean to those that fetch from addresses of users."""

MAX_REDIRECTS = 5
REDIRECTS = frozenset({301, 302, 303, 307, 308})
TRY_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
