/** Drops an index that a start used to find newer versions: another program could hide a version in it. A start reads the table. Design: §13 */
export const NO_VERSIONS_BY_AGE = {
	name: "0030-no-versions-by-age",
	sql: "DROP INDEX secret_version_by_age;",
};
