import type { KeySet, MacKey } from "./key-set.ts";
import type { RowKey } from "./row-macs.ts";

/** Receives the keys of rows, the active one first. */
export type Guard = (keys: RowKey[]) => Promise<void>;

/** Lists the keys of rows, the active one first. */
export function listRowKeys(keys: KeySet<MacKey> | undefined): RowKey[] {
	if (keys === undefined) return [];
	const { active, byId } = keys;
	const retired = [...byId.values()].filter(({ id }) => id !== active.id);
	return [active, ...retired].map(({ id, bytes }) => ({ id: Buffer.from(id, "hex"), bytes }));
}

/** The keys of rows of an open keyring, which its store always has, too. */
export interface RowKeys {
	/** Lists them, the active one first, and last one that is being stored. */
	all(): RowKey[];
	/** Gives the store those that changed. */
	give(): Promise<void>;
	/** Gives the store one more for the duration of work that stores it: readers of what the transaction leaves know both. */
	announce<T>(key: RowKey, work: () => Promise<T>): Promise<T>;
}

/** Keeps the store's keys the same as the keyring's. @param stored lists those that the keyring has */
export function createRowKeys(stored: () => RowKey[], guard: Guard | undefined): RowKeys {
	const coming = new Set<RowKey>();
	const all = () => {
		const known = stored();
		return [...known, ...[...coming].filter((key) => !known.some((one) => nameOf(one) === nameOf(key)))];
	};
	const namesNow = () => all().map(nameOf).join();
	let given = namesNow();
	const give = async () => {
		const names = namesNow();
		if (names === given) return;
		given = names;
		await guard?.(all());
	};
	return {
		all,
		give,
		async announce(key, work) {
			coming.add(key);
			try {
				await give();
				return await work();
			} finally {
				coming.delete(key);
				await give();
			}
		},
	};
}

const nameOf = ({ id }: RowKey) => Buffer.from(id).toString("hex");
