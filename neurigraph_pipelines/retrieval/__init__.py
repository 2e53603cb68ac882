"""Phase one (search) and phase two (open), thin over ``sql/queries``."""
