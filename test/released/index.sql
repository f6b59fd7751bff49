-- The relations of which a release keeps the files.
CREATE TABLE released (id int, key int, kind smallint, label text COLLATE "C")
	WITH (autovacuum_enabled = off);
CREATE UNIQUE INDEX released_id ON released USING sware (id) WITH (buffer_size = 64);
CREATE INDEX released_key ON released USING sware (key) INCLUDE (id) WITH (buffer_size = 128);
CREATE INDEX released_kind ON released USING sware (kind) WITH (buffer_size = 64);
CREATE INDEX released_label ON released USING sware (label DESC, key) WITH (buffer_size = 64);
