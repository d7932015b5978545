import type { Keyring } from "../crypto/keyring.ts";
import { checkpointText } from "./chain.ts";
import type { Anchor, AuditStore, ChainReport, Checkpoint } from "./model.ts";

/** Another program may have put checkpoints before the first event. */
const BEFORE_ALL = Number.MIN_SAFE_INTEGER;

/** Checkpoints that are read, and whose signatures are verified, in one turn of the event loop: 10 ms. There may be one for each minute. */
const AT_ONCE = 100;

/**
 * Recomputes a log's chain and compares it with every signed checkpoint stored with it, and with one from outside if given.
 * @returns the findings, and how many checkpoints were compared
 */
export async function proveLog(
	audit: Pick<AuditStore, "checkpoints" | "verify">,
	keyring: Pick<Keyring, "checkpoint">,
	outside: Anchor | undefined,
): Promise<{ report: ChainReport; checkpoints: number }> {
	const isOurs = (checkpoint: Checkpoint) => {
		const { hash, key_id, signature } = checkpoint;
		// Another program may have stored any other value.
		if (![hash, key_id, signature].every((bytes: unknown) => Buffer.isBuffer(bytes))) return false;
		const key = keyring.checkpoint().byId.get(key_id.toString("hex"));
		return key?.verify(checkpointText(checkpoint), signature) === true;
	};
	let checkpoints = 0;
	let forged: number | undefined;
	for (let after = BEFORE_ALL, isMore = true; isMore; ) {
		const some = await audit.checkpoints(after, AT_ONCE);
		forged ??= some.find((one) => !isOurs(one))?.seq;
		checkpoints += some.length;
		after = some.at(-1)?.seq ?? after;
		isMore = some.length === AT_ONCE;
	}
	const found = await audit.verify(outside === undefined ? [] : [outside]);
	const isForged = forged !== undefined && found.status === "intact";
	return { report: isForged ? { ...found, status: "altered", seq: forged } : found, checkpoints };
}
