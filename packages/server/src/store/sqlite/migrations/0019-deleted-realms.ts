/** Keeps who deleted a realm, for the list of those that can be restored. Design: §15. */
export const DELETED_REALMS = {
	name: "0019-deleted-realms",
	sql: "ALTER TABLE realm ADD COLUMN deleted_by TEXT;",
};
