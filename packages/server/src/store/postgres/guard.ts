import { createRowMacs, type RowKey, type RowMacs } from "../../crypto/row-macs.ts";
import { system } from "../../system.ts";
import { openTipBox } from "../row-ledger.ts";
import type { Trust } from "./changes.ts";

/** The keys of rows, and what was found altered under them. */
export interface Guard extends Trust {
	found: readonly string[];
	keys(): readonly RowKey[];
	/** Resolves when a change finds an alteration. */
	noticed: Promise<void>;
	/** Takes the keys of rows. @returns whether they are the first ones */
	use(row_keys: RowKey[]): boolean;
	/** Lets rows get MACs from now on. */
	begin(): void;
	/** Sets the function that reads the keys again, for a database whose keys another server may replace. */
	readKeysWith(read: () => Promise<void>): void;
	/** Has the keys read again before anything else: the database may lack some. */
	forgetKeys(): void;
}

/** Makes the guard, which trusts nothing before it has keys. */
export function createGuard(): Guard {
	const { promise: noticed, resolve } = Promise.withResolvers<void>();
	const found: string[] = [];
	const macs = createRowMacs(undefined, system.randomBytes);
	let keys: readonly RowKey[] | undefined;
	let isSound = false;
	const note = (altered: readonly string[]) => {
		const news = altered.filter((one) => !found.includes(one));
		found.push(...news);
		if (news.length > 0) resolve();
	};
	const keyReader = createKeyReader(macs);
	return {
		found,
		noticed,
		keys: () => keys ?? [],
		macs,
		isSound: () => isSound,
		use(row_keys) {
			const isFirst = keys === undefined;
			keys = row_keys;
			macs.use(row_keys);
			return isFirst;
		},
		begin() {
			isSound = true;
		},
		lose(altered) {
			isSound = false;
			note(altered);
		},
		learn: note,
		...keyReader,
	};
}

/** Compares the keys in use with those of the newest tip, one comparison at a time: an older result must not replace a newer one. */
function createKeyReader(macs: RowMacs): Pick<Guard, "readKeysWith" | "keepUp" | "forgetKeys"> {
	let read: (() => Promise<void>) | undefined;
	let seen: Buffer | undefined;
	let known = -1;
	let last = Promise.resolve();
	const compare = async (sealed: Buffer) => {
		if (read === undefined || seen?.equals(sealed) === true) return;
		const changes = () => openTipBox(sealed, macs)?.rows.keys;
		if ((changes() ?? Number.POSITIVE_INFINITY) > known) {
			await read();
			known = Math.max(known, changes() ?? known);
		}
		seen = sealed;
	};
	return {
		readKeysWith(given) {
			read = given;
		},
		forgetKeys() {
			last = last.then(() => {
				[seen, known] = [undefined, -1];
			});
		},
		keepUp(sealed) {
			if (read === undefined || sealed === null || sealed === undefined) return Promise.resolve();
			const turn = last.then(() => compare(sealed));
			last = turn.catch(() => undefined);
			return turn;
		},
	};
}
