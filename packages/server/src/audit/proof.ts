import type { Keyring } from "../crypto/keyring.ts";
import { checkpointText } from "./chain.ts";
import type { Anchor, AuditStore, ChainReport } from "./model.ts";

/**
 * Recomputes a log's chain and compares it with every signed checkpoint stored beside it, and with one from outside if given.
 * @returns the findings, and how many checkpoints were compared
 */
export async function proveLog(
	audit: Pick<AuditStore, "checkpoints" | "verify">,
	keyring: Pick<Keyring, "checkpoint">,
	outside: Anchor | undefined,
): Promise<{ report: ChainReport; checkpoints: number }> {
	const checkpoints = await audit.checkpoints();
	const forged = checkpoints.find((checkpoint) => {
		const key = keyring.checkpoint().byId.get(checkpoint.key_id.toString("hex"));
		return key === undefined || !key.verify(checkpointText(checkpoint), checkpoint.signature);
	});
	const anchors = outside === undefined ? checkpoints : [...checkpoints, outside];
	const found = await audit.verify(anchors.map(({ seq, hash }) => ({ seq, hash })));
	const isForged = forged !== undefined && found.status === "intact";
	const report: ChainReport = isForged ? { ...found, status: "altered", seq: forged.seq } : found;
	return { report, checkpoints: checkpoints.length };
}
