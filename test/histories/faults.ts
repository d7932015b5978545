/** A place in the server's sources, and what stands there instead. */
interface Edit {
	/** Path below `packages/server/src/`. */
	readonly file: string;
	readonly from: string;
	readonly to: string;
}

/** Adds the answers to a read to those that lose their proof. */
const PROVED = "known[cached.in].push(answers);";

/** Faults of a server that the histories must find. */
export const FAULTS: Readonly<Record<string, readonly Edit[]>> = {
	"an answer before the commit": [
		{
			file: "store/postgres/writer.ts",
			from: "await changes.alone(() => inOrder(group));",
			// Not from the first group on: the server would not find what it has just written, and not start.
			to: `await changes.alone(async () => {
				const early = await inOrder(group);
				globalThis.groups = (globalThis.groups ?? 0) + 1;
				if (groups > 30) for (const [index, outcome] of early.entries()) answer(group[index], outcome);
				await new Promise((resolve) => setTimeout(resolve, 5));
				return early;
			});`,
		},
	],
	"a remembered token without a proof": [
		{ file: "store/postgres/store.ts", from: "checksReads: isShared", to: "checksReads: false" },
		{ file: "store/postgres/proved-answers.ts", from: PROVED, to: `if (cached.by > 1) ${PROVED}` },
	],
	"a remembered secret without a proof": [
		{ file: "store/postgres/proved-answers.ts", from: PROVED, to: `if (cached.bytesOf === undefined) ${PROVED}` },
	],
	"a claim that takes what another server has": [
		{ file: "store/postgres/claims.ts", from: "\tWHERE NOT (", to: "\tWHERE true OR (" },
		{
			file: "store/postgres/claims.ts",
			from: "lease_id = $1 AND node_id = $2 AND ",
			to: "lease_id = $1 OR node_id = $2 AND ",
		},
	],
	"a lost commit that is looked for without the lock": [
		{
			file: "store/postgres/changes.ts",
			from: "return await link.transaction(`BEGIN; $",
			to: "return await link.transaction(`BEGIN; -- $",
		},
	],
};

/** Plants the faults in a source. @throws Error when it does not have their places, each once */
export function plant(edits: readonly Edit[], url: string, source: string): string {
	return edits
		.filter(({ file }) => url.endsWith(`/packages/server/src/${file}`))
		.reduce((text, { from, to }) => {
			if (text.split(from).length !== 2) throw new Error(`the fault finds no place in ${url}: ${from}`);
			return text.replace(from, () => to);
		}, source);
}
