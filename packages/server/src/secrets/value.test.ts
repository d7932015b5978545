import assert from "node:assert/strict";
import { after, test } from "node:test";
import { rotateDataKey } from "../crypto/rotation.ts";
import { sealPortable } from "../crypto/seal.ts";
import { AppError } from "../errors.ts";
import { anEvent, aVersion } from "../testing/rows.ts";
import { addAccount, addRealm, openTestRules } from "../testing/rules.ts";
import { until } from "../testing/until.ts";
import type { SecretVersion } from "./model.ts";
import { openStored, openValue, sealValue } from "./value.ts";

const rules = await openTestRules({ after });
const { store, keyring, system } = rules;
const owner = await addAccount(store);
const realm = await addRealm(store, owner, { keyring });
const other = await addRealm(store, owner, { keyring });

/** Makes a row whose value is sealed for it. */
async function row(text: string, given: Partial<SecretVersion> = {}): Promise<SecretVersion> {
	const made = { ...aVersion(realm.id, "DB/URL", given), version: 1 };
	return { ...made, value: await sealValue(rules, made, text) };
}

const isAltered = (error: unknown) =>
	error instanceof AppError && error.code === "internal_error" && /`svc doctor --deep`/.test(error.message);

const portable = (text: string) => sealPortable(keyring.portable(), text, system.randomBytes);

for (const text of [
	"a secret",
	"",
	" ",
	"\u0000",
	"line\r\nline",
	"ключ 🔑 e\u0301",
	"svc:v1:not ours",
	"x".repeat(256 * 1024),
]) {
	test(`a value opens as it was sealed: ${JSON.stringify(text).slice(0, 30)}`, async () => {
		const sealed = await row(text);
		assert.ok((await openStored(rules, sealed)) === text);
		assert.ok((await openValue(rules, sealed)) === text);
		assert.ok(text.length < 8 || !sealed.value.includes(text.slice(0, 8)), "the text is not in the row");
	});
}

test("each sealing of a value differs", async () => {
	const given = { id: "same" };
	assert.notDeepEqual((await row("text", given)).value, (await row("text", given)).value);
});

test("readings of one row share an opening for a second, and not for long", async () => {
	const sealed = await row("a secret");
	assert.equal(await openStored(rules, sealed), "a secret");
	sealed.value.fill(0);
	assert.equal(await openStored(rules, sealed), "a secret");
	await assert.rejects(openStored(rules, { ...sealed }), isAltered, "another row opens for itself");
	const isForgotten = () => openStored(rules, sealed).then(() => false, isAltered);
	await until(isForgotten);
});

/** Changes that somebody with a database tool makes to a row. */
const MOVES: Record<string, (row: SecretVersion) => SecretVersion> = {
	"to another row": (sealed) => ({ ...sealed, id: "another" }),
	"to another key": (sealed) => ({ ...sealed, key: "DB/USER" }),
	"to another environment": (sealed) => ({ ...sealed, environment: "prod" }),
	"to another realm": (sealed) => ({ ...sealed, realm_id: other.id }),
	"from one field into the next": (sealed) => ({ ...sealed, key: `${sealed.key}${sealed.id}`, id: "" }),
	"from plain to encrypted before": (sealed) => ({ ...sealed, pre_encrypted: !sealed.pre_encrypted }),
};
for (const [what, move] of Object.entries(MOVES)) {
	test(`a value that was moved ${what} does not open`, async () => {
		for (const pre_encrypted of [false, true]) {
			const sealed = await row(portable("text"), { pre_encrypted });
			await assert.rejects(openStored(rules, move(sealed)), isAltered);
			await assert.rejects(openValue(rules, move(sealed)), isAltered);
		}
	});
}

test("two rows that changed their values do not open, and open again when they are put back", async () => {
	const [a, b] = [await row("a", { key: "A" }), await row("b", { key: "B" })];
	await assert.rejects(openValue(rules, { ...a, value: b.value }), isAltered);
	await assert.rejects(openValue(rules, { ...b, value: a.value }), isAltered);
	assert.deepEqual([await openValue(rules, a), await openValue(rules, b)], ["a", "b"]);
});

test("an older value put into a newer version's row does not open", async () => {
	const first = await row("old password", { id: "version-1" });
	const second = await row("new password", { id: "version-2" });
	await assert.rejects(openValue(rules, { ...second, value: first.value }), isAltered);
});

test("a value with any byte changed, cut short or lengthened does not open", async () => {
	const sealed = await row("text");
	for (let at = 0; at < sealed.value.length; at++) {
		const value = Buffer.from(sealed.value);
		value[at] = (value[at] ?? 0) ^ 1;
		await assert.rejects(openValue(rules, { ...sealed, value }), isAltered, `byte ${at}`);
		await assert.rejects(
			openValue(rules, { ...sealed, value: sealed.value.subarray(0, at) }),
			isAltered,
			`${at} bytes`,
		);
	}
	await assert.rejects(openValue(rules, { ...sealed, value: Buffer.concat([sealed.value, Buffer.of(0)]) }), isAltered);
});

test("text that somebody encrypted here before is kept as it is and read as what it holds", async () => {
	const text = portable("the real value");
	const sealed = await row(text, { pre_encrypted: true });
	assert.equal(await openStored(rules, sealed), text);
	assert.equal(await openValue(rules, sealed), "the real value");
});

test("text that begins like ours and is a plain value is read as it is, even when we could open it", async () => {
	const text = portable("the real value");
	assert.equal(await openValue(rules, await row(text)), text);
});

const NOT_OURS: Record<string, () => string> = {
	"of another server": () => `svc:v1:${Buffer.alloc(60, 5).toString("base64url")}`,
	"cut short": () => portable("text").slice(0, -3),
	"with a character changed": () => portable("text").replace(/.$/, (last) => (last === "A" ? "B" : "A")),
	"with something behind it": () => `${portable("text")}\n`,
	"that is the prefix alone": () => "svc:v1:",
	"that is no base64": () => "svc:v1:ключ",
};
for (const [what, make] of Object.entries(NOT_OURS)) {
	test(`text encrypted before that we cannot open is read as it is: ${what}`, async () => {
		const text = make();
		assert.equal(await openValue(rules, await row(text, { pre_encrypted: true })), text);
	});
}

test("what was sealed before the realm's key or the portable key was rotated still opens", async () => {
	const [plain, before] = [await row("plain"), await row(portable("inner"), { pre_encrypted: true })];
	await rotateDataKey({ keys: store.keys, keyring }, "record", realm.id, anEvent());
	await rotateDataKey({ keys: store.keys, keyring }, "portable", "", anEvent());
	assert.deepEqual([await openValue(rules, plain), await openValue(rules, before)], ["plain", "inner"]);
	assert.notDeepEqual(
		(await row("plain")).value.subarray(0, 9),
		plain.value.subarray(0, 9),
		"new values have the new key",
	);
});

test("a realm that has no key is an error of our own, for sealing and for opening", async () => {
	const nowhere = { realm_id: "nowhere" };
	await assert.rejects(row("text", nowhere), (error) => error instanceof AppError && error.code === "internal_error");
	const sealed = await row("text");
	await assert.rejects(
		openValue(rules, { ...sealed, ...nowhere }),
		(error) => error instanceof AppError && error.status === 500,
	);
});
