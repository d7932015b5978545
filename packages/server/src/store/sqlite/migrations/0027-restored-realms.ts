/** Finds the slugs that a realm had before it was restored under another one. The index has few entries. Design: §15 */
export const RESTORED_REALMS = {
	name: "0027-restored-realms",
	sql: "CREATE INDEX audit_event_restored ON audit_event (realm_id) WHERE type = 'realm.restored';",
};
