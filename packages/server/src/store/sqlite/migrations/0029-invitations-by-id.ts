/** Finds the invitations of an address in the order of their ids, which MACs cover. Design: §13 */
export const INVITATIONS_BY_ID = {
	name: "0029-invitations-by-id",
	sql: `
DROP INDEX invitation_by_email;
CREATE INDEX invitation_by_email ON invitation (email, id);
`,
};
