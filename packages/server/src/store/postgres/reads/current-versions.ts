import { rowAltered } from "../../errors.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Snapshot } from "../database.ts";
import { type BriefVersion, briefVersions } from "./brief-versions.ts";

type Reads = Pick<Async<Implementations<"scan">["secrets"]>, "currentVersions" | "pairs">;

interface Current extends BriefVersion {
	id: number;
	key: string;
}

/** Answers questions about all secrets of an environment. */
export function currentVersionReads(db: Snapshot): Reads {
	return {
		async currentVersions(realm_id, environment, expired_by) {
			const found = await currentOf(db, realm_id, environment, expired_by);
			return Float64Array.from(found.flatMap(numbersOf));
		},
		async pairs(realm_id, from, to, expired_by) {
			const ones = await currentOf(db, realm_id, from, expired_by);
			const others = await currentOf(db, realm_id, to, expired_by);
			const [here, there] = [ones, others].map((found) => new Map(found.map((one) => [one.key, one])));
			const keys = [...new Set([...ones, ...others].map(({ key }) => key))].toSorted(byBytes);
			return Float64Array.from(keys.flatMap((key) => [...numbersOf(here?.get(key)), ...numbersOf(there?.get(key))]));
		},
	};
}

/** Keys are ASCII, and each is there once. */
const byBytes = (one: string, other: string) => (one < other ? -1 : 1);

/** A version as three numbers; zeros where there is none. */
function numbersOf(current: Current | undefined): number[] {
	return current === undefined ? [0, 0, 0] : [current.id, current.version, current.bytes];
}

/** Reads the current versions that have not expired, in the order of creation. Every row of the environment is verified, also one that says it was deleted. */
async function currentOf(db: Snapshot, realm_id: string, environment: string, expired_by: string): Promise<Current[]> {
	const all = await db.verified("secret", "realm_id = $1 AND environment = $2 ORDER BY id", [realm_id, environment]);
	const live = all.filter(({ deleted_at }) => deleted_at === null);
	const versions = await briefVersions(db, live);
	return live.flatMap(({ id, key }) => {
		const version = versions.get(id);
		if (version === undefined) throw rowAltered();
		const { expires_at } = version;
		return expires_at === null || expires_at > expired_by ? [{ ...version, id, key }] : [];
	});
}
