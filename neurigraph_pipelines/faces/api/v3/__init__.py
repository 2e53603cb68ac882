"""Operations below ``/v3`` and ``/chat``: another memory system's shapes over the same sources and searches."""
