import assert from "node:assert/strict";
import { ROW_KINDS, type RowKind } from "../../packages/server/src/store/row-kinds.ts";
import { ROWS_WITH_NUMBERS } from "./numbers.ts";
import { type Forgery, tryForgery } from "./trial.ts";
import type { ForgedWorld } from "./world.ts";

const OTHER_PAGES = "every row, and what finds it, is as it was";
const NEXT_NUMBER = "the next row gets another number; no answer depends on it";
const PROOF_FOR_OTHERS = "the tip has the end of the log; a checkpoint proves it to somebody who kept one";
const BLOCKS_AGAIN = "the server makes missing blocks again; until then it looks at their events one by one";
const UNREAD = "the server reads it nowhere, or makes it anew";

/** Columns that no MAC covers, in which a change is noticed nevertheless. */
const FREE_BUT_NOTICED = [
	"api_token.name",
	"api_token.prefix",
	"deleted_version.value",
	"engine_config.sealed",
	"factor.sealed",
	"keyring.wrapped",
	"lease.payload",
	"machine_token.name",
	"machine_token.prefix",
	"realm.bytes",
	"realm.keys",
	"secret_version.value",
	"sso_provider.sealed",
];

/** Outcomes of what is not listed. */
const EXPECTED = ["refused", "altered", "noticed"];

/** Forgeries that go unnoticed, each with the reason why it neither grants nor hides anything. */
const UNNOTICED: Readonly<Record<string, string>> = {
	...Object.fromEntries(
		Object.entries(ROW_KINDS as Record<string, RowKind>).flatMap(([table, { free }]) =>
			Object.entries(free)
				.filter(([column]) => !FREE_BUT_NOTICED.includes(`${table}.${column}`))
				.map(([column, reason]) => [`${table}.${column} changed`, reason]),
		),
	),
	...Object.fromEntries(ROWS_WITH_NUMBERS.map((table) => [`number: the last row of ${table}`, NEXT_NUMBER])),
	"aim: a passkey under another one's name": "its owner sees the name and host in its box",
	"audit_block: all rows deleted": BLOCKS_AGAIN,
	"audit_block: rows put back as they once were": BLOCKS_AGAIN,
	"audit_checkpoint: all rows deleted": PROOF_FOR_OTHERS,
	"audit_checkpoint: rows put back as they once were": PROOF_FOR_OTHERS,
	"number: the last row of account":
		"registration counts accounts by it, so nobody registers beyond the limit without an admin",
	"number: secrets from the beginning": NEXT_NUMBER,
	"number: no secret before the next": NEXT_NUMBER,
	"file: the mark of an adoption": "an adoption asks for more because of it, never for less",
	"file: rests of a restore and an adoption": UNREAD,
	"file: a shared memory of nonsense": UNREAD,
	"file: another application id and version": UNREAD,
	"file: another journal mode": OTHER_PAGES,
	"file: pages of another size": OTHER_PAGES,
	"file: another way of keeping free pages": OTHER_PAGES,
};

/** Tries forgeries one after another. Each goes unnoticed only if it is listed, and is listed only if it goes unnoticed. */
export async function expectNoticed(world: ForgedWorld, forgeries: readonly Forgery[]): Promise<void> {
	const problems: string[] = [];
	for (const forgery of forgeries) {
		const { name } = forgery;
		const outcome = await tryForgery(world, forgery).catch((error: Error) => error.message.slice(0, 1000));
		const isExpected = name in UNNOTICED ? outcome === "unnoticed" : EXPECTED.includes(outcome);
		if (!isExpected) problems.push(`${name}: ${outcome}`);
	}
	assert.deepEqual(problems, []);
}
