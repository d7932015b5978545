/** Makes the columns in which a node reports its master keys, by their fingerprints: a rotation waits until each has the next one. ADR 18 */
export const NODE_KEYS = {
	name: "0010-node-keys",
	sql: `
ALTER TABLE node ADD COLUMN master_key text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE node ADD COLUMN next_master_key text COLLATE "C" NOT NULL DEFAULT '';
`,
};
