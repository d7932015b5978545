import assert from "node:assert/strict";
import { test } from "node:test";
import { format, inspect } from "node:util";
import { serialize } from "node:v8";
import { Redacted } from "./redacted.ts";
import { createTestLog } from "./testing/log.ts";

const SECRET = "CANARY";

/** Every way in which a value becomes text by accident. */
const TEXTS: Record<string, (value: Redacted<string>) => string> = {
	"String()": (value) => String(value),
	"a template": (value) => `${value}`,
	"adding to a text": (value) => `${["a", value].join(" ")}`,
	"JSON of it": (value) => JSON.stringify(value),
	"JSON of something that holds it": (value) => JSON.stringify({ deep: [{ value }] }),
	inspect: (value) => inspect(value),
	"inspect with everything": (value) =>
		inspect({ value }, { showHidden: true, depth: null, getters: true, customInspect: true }),
	"inspect without its own way": (value) => inspect(value, { showHidden: true, customInspect: false }),
	"format %s": (value) => format("%s", value),
	"format %o": (value) => format("%o", value),
	"format %j": (value) => format("%j", value),
	"an error's message": (value) => new Error(`failed with ${value}`).message,
	"its fields": (value) => JSON.stringify([Object.entries(value), Object.getOwnPropertyNames(value), { ...value }]),
	"a copy": (value) => JSON.stringify(structuredClone({ ...value })),
	serialisation: (value) => serialize({ ...value }).toString("latin1"),
};
for (const [what, text] of Object.entries(TEXTS)) {
	test(`a secret does not show in ${what}`, () => {
		assert.ok(!text(new Redacted(SECRET)).includes(SECRET));
	});
}

test("a secret shows as [redacted] wherever it is, and reveal returns it", () => {
	const value = new Redacted(SECRET);
	assert.equal(`${value}`, "[redacted]");
	assert.equal(JSON.stringify({ value }), '{"value":"[redacted]"}');
	assert.equal(inspect({ value }), "{ value: [redacted] }");
	assert.equal(value.reveal(), SECRET);
});

test("a secret that is handed to the log by mistake does not show in it", () => {
	const { log, lines } = createTestLog();
	log("info", "start", { message: new Redacted(SECRET) as never, error: new Redacted(SECRET) });
	assert.ok(!lines.join().includes(SECRET));
});

test("bytes are given back as they are, the same ones", () => {
	const bytes = Buffer.from(SECRET);
	assert.equal(new Redacted(bytes).reveal(), bytes);
	assert.ok(!inspect(new Redacted(bytes)).includes("43 41 4e"));
});
