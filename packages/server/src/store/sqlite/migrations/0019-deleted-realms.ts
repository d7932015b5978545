/** Keeps who deleted a realm, for the list of those that can be restored, and finds deleted realms by slug. Design: §15. */
export const DELETED_REALMS = {
	name: "0019-deleted-realms",
	sql: `
ALTER TABLE realm ADD COLUMN deleted_by TEXT;
CREATE INDEX realm_deleted_by_slug ON realm (slug, deleted_at) WHERE deleted_at IS NOT NULL;
`,
};
