import { keyOfMac, type RowKey, type RowMacs } from "../../crypto/row-macs.ts";

/** Verifies rows, and counts those whose MAC names a key that is not known. */
interface Strange extends Pick<RowMacs, "fits"> {
	/** Number of such rows. */
	readonly met: number;
}

/** Makes it over the keys of the moment. */
export function createStrange(macs: RowMacs): Strange {
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

/** Asks, and once more if a row was met whose key another server has made meanwhile. */
export async function askAgain<Answer>(
	ask: () => Promise<Answer>,
	strange: Strange,
	{ keys, catchUp }: { keys(): readonly RowKey[]; catchUp(): Promise<void> },
): Promise<Answer> {
	const [met, known] = [strange.met, keys()];
	const first = ask();
	await first.catch(() => undefined);
	if (strange.met === met) return first;
	await catchUp();
	return keys() === known ? first : ask();
}
