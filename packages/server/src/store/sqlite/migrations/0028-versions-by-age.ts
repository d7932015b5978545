/** Finds the versions that are newer than the tip at a start, without a look at the others. Design: §13 */
export const VERSIONS_BY_AGE = {
	name: "0028-versions-by-age",
	sql: "CREATE INDEX secret_version_by_age ON secret_version (id);",
};
