-- The two padded keys of HMAC (RFC 2104), so that the built-in sha256 suffices and no extension is needed. An interface
-- sets two parameters for its transaction: the claims, and their HMAC-SHA256. Every role that runs SQL can set a
-- parameter, so claims without a valid signature, or after they expire, are no claims.
CREATE TABLE neurigraph_private.claims_key (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    inner_pad bytea NOT NULL CHECK (octet_length(inner_pad) = 64),
    outer_pad bytea NOT NULL CHECK (octet_length(outer_pad) = 64)
);
