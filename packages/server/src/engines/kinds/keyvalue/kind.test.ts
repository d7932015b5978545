import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDescriptor } from "@svc/protocol";
import plugin from "../../../../../../plugins/keyvalue/plugin.json" with { type: "json" };
import { checkFields, targetOf } from "../../config/fields.ts";
import { keyvalue } from "./kind.ts";

const DESCRIPTOR = parseDescriptor(plugin);
const FORMER = { address: "store.internal:6379", password: "the password", tls: true, ca_cert: "PEM" };

test("a masked password stays unless a field changes that says where it is sent", () => {
	const send = (changes: object) =>
		checkFields(keyvalue, DESCRIPTOR, { ...FORMER, password: "********", ...changes }, FORMER).password;
	for (const same of [{}, { username: "root" }, { max_ttl: "2h" }, { acl_save: true }])
		assert.equal(send(same), FORMER.password);
	for (const moved of [{ address: "elsewhere:6379" }, { tls: false }, { ca_cert: "other" }, { ca_cert: null }])
		assert.throws(() => send(moved), { code: "missing_field" }, JSON.stringify(moved));
});

test("the target is the address, in any case of letters", () => {
	const known = targetOf(keyvalue, DESCRIPTOR, FORMER, {});
	assert.equal(
		targetOf(keyvalue, DESCRIPTOR, { ...FORMER, address: "STORE.internal:6379", password: "new" }, {}),
		known,
	);
	assert.notEqual(targetOf(keyvalue, DESCRIPTOR, { ...FORMER, address: "store.internal:6380" }, {}), known);
});
