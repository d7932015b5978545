/** Makes the table of when and where each session was last used. Its rows have no MACs: people look at them, and they decide nothing. */
export const SESSION_USES = {
	name: "0013-session-uses",
	sql: `
CREATE TABLE session_use (
  jti text COLLATE "C" PRIMARY KEY,
  at text COLLATE "C" NOT NULL,
  ip text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL
);
CREATE INDEX session_use_by_time ON session_use (at DESC, jti);
`,
};
