/** Objects of a schema: the text of each by its name. */
export type SchemaObjects = ReadonlyMap<string, string>;

/** Names what a schema has, lacks or has in another form than the one that the migrations make. */
export function schemaDifference(found: SchemaObjects, made: SchemaObjects): string[] {
	const names = new Set([...found.keys(), ...made.keys()]);
	return [...names].filter((name) => found.get(name) !== made.get(name)).toSorted((a, b) => (a < b ? -1 : 1));
}
