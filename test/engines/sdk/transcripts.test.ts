/* Engines behave as the page of the contract says: the test repeats its conversations. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { installMemoEngines } from "../../harness/memo-engine.ts";

const path = (below: string) => fileURLToPath(new URL(`../../../${below}`, import.meta.url));

const memo = await installMemoEngines(1);
after(() => memo.remove());

const ENGINES: Record<string, readonly string[]> = {
	keyvalue: [process.execPath, path("packages/svc/src/main.ts"), "plugin", "keyvalue"],
	voucher: [process.execPath, path("packages/plugin-sdk/examples/typescript/main.ts")],
	memo: [`${memo.folder}/memo-1/engine.sh`],
};

const PAGE = readFileSync(path("packages/protocol/README.md"), "utf8");
const TRANSCRIPT = /^```transcript (\w+)\n(.*?)^```$/gms;

/** Replaces values that are new every time with their shape. */
function shapeOf(line: string): string {
	return line
		.replace(/svc_[0-9a-f]{8}/g, "NAME")
		.replace(/[0-9a-f]{24}/g, "PASSWORD")
		.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, "INSTANT")
		.replace(/"voucher":"SHOP-\d{16}"/g, '"voucher":"SHOP-…"');
}

const transcripts = [...PAGE.matchAll(TRANSCRIPT)];

test("the page has a conversation with each of these engines", () => {
	assert.deepEqual(new Set(transcripts.map(([, engine]) => engine)), new Set(Object.keys(ENGINES)));
});

for (const [, engine = "", text = ""] of transcripts) {
	test(`the conversation with ${engine} goes as the page of the contract has it`, () => {
		const lines = text.trimEnd().split("\n");
		const marked = (mark: string) => lines.flatMap((line) => (line.startsWith(mark) ? [line.slice(mark.length)] : []));
		const [program = "", ...args] = ENGINES[engine] ?? [];
		const input = marked("> ").map((line) => `${line}\n`);
		const { stdout, status } = spawnSync(program, args, { input: input.join(""), encoding: "utf8", timeout: 300_000 });
		assert.equal(status, 0);
		assert.deepEqual(stdout.trimEnd().split("\n").map(shapeOf), marked("< ").map(shapeOf));
		assert.equal(input.length * 2, lines.length);
	});
}

test("the page of the SDK shows the example in TypeScript as it is", () => {
	const [, shown] = /^```ts\n(.*?)^```$/ms.exec(readFileSync(path("packages/plugin-sdk/README.md"), "utf8")) ?? [];
	assert.equal(shown, readFileSync(path("packages/plugin-sdk/examples/typescript/main.ts"), "utf8"));
});
