/** Gives configurations of engines their order in a column: SQLite may renumber a table's rows when it copies them. Design: §14. */
export const CONFIG_ORDER = {
	name: "0011-config-order",
	sql: `
ALTER TABLE engine_config ADD COLUMN ordinal INTEGER NOT NULL DEFAULT 0;

UPDATE engine_config SET ordinal = rowid;

CREATE UNIQUE INDEX engine_config_in_order ON engine_config (ordinal);
`,
};
