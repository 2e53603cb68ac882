-- Vectors of another model beside those in use, while a user moves from one to the other.

ALTER TABLE {schema}.metadata_records
ADD COLUMN embedding_next vector(1536),
ADD COLUMN embedding_next_model text,
ADD CHECK ((embedding_next IS NULL) = (embedding_next_model IS NULL)),
-- Two vectors of 6 kB do not fit on one page: the one that is rarely read goes out of line.
ALTER COLUMN embedding_next SET STORAGE EXTERNAL;

ALTER TABLE {schema}.passages
ADD COLUMN embedding_next halfvec(512),
ADD COLUMN window_embedding_next halfvec(512),
ALTER COLUMN embedding_next SET STORAGE EXTERNAL,
ALTER COLUMN window_embedding_next SET STORAGE EXTERNAL;
