/** Adds the sources that accounts sign in from: `pair` is a MAC over account and source, so that no row reveals an address. */
export const KNOWN_SOURCES = {
	name: "0007-known-sources",
	sql: `
CREATE TABLE known_source (
  pair BLOB PRIMARY KEY CHECK (length(pair) = 32),
  user_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
  seen_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX known_source_by_user ON known_source (user_id, seen_at);
CREATE INDEX known_source_by_time ON known_source (seen_at);
`,
};
