import { keyOfMac, type RowKey, type RowMacs } from "../../crypto/row-macs.ts";

/** Verifies rows, and counts those whose MAC names a key that is not known. */
interface UnknownKeys extends Pick<RowMacs, "fits"> {
	/** Number of such rows. */
	readonly met: number;
}

/** Verifies with the current keys. */
export function countUnknownKeys(macs: RowMacs): UnknownKeys {
	let met = 0;
	const isKnown = (mac: unknown) => !Buffer.isBuffer(mac) || macs.names.includes(keyOfMac(mac));
	return {
		get met() {
			return met;
		},
		fits(mac, text) {
			if (macs.fits(mac, text)) return true;
			if (!isKnown(mac)) met++;
			return false;
		},
	};
}

/** Asks a question, and repeats it if a row had the key of a newer rotation on another server. */
export async function askAgain<Answer>(
	ask: () => Promise<Answer>,
	unknown_keys: UnknownKeys,
	{ keys, catchUp }: { keys(): readonly RowKey[]; catchUp(): Promise<void> },
): Promise<Answer> {
	const [met, known] = [unknown_keys.met, keys()];
	const first = ask();
	await first.catch(() => undefined);
	if (unknown_keys.met === met) return first;
	await catchUp();
	return keys() === known ? first : ask();
}
