import type { RowMacs } from "../crypto/row-macs.ts";
import type { ChainEnd } from "./chain.ts";
import type { RowSum } from "./row-kinds.ts";
import { type KeySums, NO_SUMS, type RowState, type RowSums } from "./row-ledger.ts";

/** End of the log and state of the rows, as one transaction left them. */
export interface Tip extends ChainEnd {
	rows: RowState;
}

type SumTexts = Record<RowSum, string>;

/** A tip as text: the sums of the key that seals it, and those of each former key that are not zero. */
interface TipText extends SumTexts {
	seq: number;
	hash: string;
	former?: Record<string, SumTexts>;
}

/** Seals a tip with the active key for rows. */
export function sealTip(tip: Tip, macs: RowMacs): Buffer {
	return macs.seal(textOf(tip), tip.rows.active);
}

/** Opens a tip; undefined when it was altered. */
export function openTipBox(box: Buffer, macs: RowMacs): Tip | undefined {
	const opened = macs.open(box);
	if (opened === undefined) return undefined;
	const { seq, hash, former = {}, ...own } = JSON.parse(opened.text) as TipText;
	const sums = Object.entries({ ...former, [opened.key]: own }).map(([key, texts]) => [key, sumsIn(texts)] as const);
	return { seq, hash: Buffer.from(hash, "hex"), rows: { active: opened.key, sums: new Map(sums) } };
}

/** Compares the sums of every key, also of one that is in the keyring no more: what its rows left behind is not zero when one was put back or taken away. */
export function isSameSum(one: KeySums, other: KeySums, sum: RowSum): boolean {
	return [...one.keys(), ...other.keys()].every(
		(key) => (one.get(key) ?? NO_SUMS)[sum] === (other.get(key) ?? NO_SUMS)[sum],
	);
}

function textOf({ seq, hash, rows: { active, sums } }: Tip): string {
	const former = [...sums].filter(([key, { access, content }]) => key !== active && (access !== 0n || content !== 0n));
	const text: TipText = { seq, hash: hash.toString("hex"), ...textsOf(sums.get(active)) };
	if (former.length > 0) text.former = Object.fromEntries(former.map(([key, own]) => [key, textsOf(own)]));
	return JSON.stringify(text);
}

function sumsIn({ access, content }: SumTexts): RowSums {
	return { access: BigInt(`0x${access}`), content: BigInt(`0x${content}`) };
}

function textsOf({ access, content }: RowSums = NO_SUMS): SumTexts {
	return { access: access.toString(16), content: content.toString(16) };
}
