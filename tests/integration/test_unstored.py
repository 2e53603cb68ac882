"""Messages that are not stored yet are found, once, by those who may read them."""
