/**
 * Makes the tables of short-lived facts, which servers that share the database have in common. Their rows have no MACs: `shared-tables.ts` has
 * the reason for each. Design: §14
 */
export const BRIEF_FACTS = {
	name: "0008-brief-facts",
	sql: `
CREATE TABLE attempt (
  kind text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  count bigint NOT NULL,
  ends_at timestamptz NOT NULL,
  waits_until timestamptz NOT NULL,
  PRIMARY KEY (kind, name)
);
CREATE INDEX attempt_by_end ON attempt (kind, ends_at);

CREATE TABLE challenge_count (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id text COLLATE "C" NOT NULL,
  until_ms bigint NOT NULL
);
CREATE INDEX challenge_count_by_end ON challenge_count (until_ms, user_id);

CREATE TABLE sso_code (
  digest bytea PRIMARY KEY,
  sealed bytea NOT NULL,
  until_ms bigint NOT NULL
);
CREATE INDEX sso_code_by_end ON sso_code (until_ms, digest);
`,
};
