import assert from "node:assert/strict";
import { after, test } from "node:test";
import * as v from "valibot";
import { Login, Register } from "./accounts/model.ts";
import { visitorEvent } from "./audit/model.ts";
import { PlainText, RequiredPlainText } from "./messages.ts";
import { CreateRealm } from "./realms/model.ts";
import { Encrypt, SetSecret } from "./secrets/model.ts";
import { aKey, anEvent } from "./testing/rows.ts";
import { addAccount } from "./testing/rules.ts";
import { openTestStore } from "./testing/store.ts";
import { CreateToken } from "./tokens/model.ts";

const NUL = "a\u0000b";
const PASSWORD = "correct horse\u0000battery staple";
const ada = { email: "ada@example.com", password: PASSWORD };
const realm = { slug: "shop", name: "Shop" };

test("names, descriptions and comments do not hold U+0000", () => {
	const given: [schema: v.GenericSchema, good: object, field: string][] = [
		[Register, ada, "name"],
		[CreateRealm, realm, "name"],
		[CreateRealm, realm, "description"],
		[CreateToken, { name: "ci" }, "name"],
		[SetSecret, { key: "K", value: "v" }, "comment"],
	];
	for (const [schema, good, field] of given) {
		assert.ok(v.is(schema, good), field);
		const { issues = [] } = v.safeParse(schema, { ...good, [field]: NUL });
		assert.match(String(issues[0]?.message), /U\+0000/, field);
	}
	for (const text of ["", "a", "\u0001", "🔑"]) assert.ok(v.is(PlainText, text));
	assert.ok(!v.is(PlainText, "\u0000"));
	assert.ok(!v.is(RequiredPlainText, ""));
});

test("values and passwords keep it, and an e-mail with it belongs to nobody", () => {
	assert.equal(v.parse(SetSecret, { key: "K", value: NUL }).value, NUL);
	assert.equal(v.parse(Encrypt, { value: NUL }).value, NUL);
	assert.equal(v.parse(Register, ada).password, PASSWORD);
	assert.ok(v.is(Login, { email: NUL, password: PASSWORD }));
	const event = visitorEvent({ request_id: "", ip: "" }, new Date(0), "auth.login.failed", NUL, {});
	assert.equal(event.actor, "a\ufffdb");
});

test("a name that was stored with it before stays readable", async () => {
	const { store } = await openTestStore({ after });
	const owner = await addAccount(store, { name: NUL });
	const row = { id: "r", slug: "old", name: NUL, description: NUL, user_id: owner.id, created_at: owner.created_at };
	await store.realms.create({ realm: row, key: aKey("r"), realms_per_account: 10 }, anEvent());
	assert.equal((await store.accounts.byId(owner.id))?.name, NUL);
	const [found] = await store.realms.list(owner.id, undefined, "", 10);
	assert.deepEqual([found?.name, found?.description], [NUL, NUL]);
});
