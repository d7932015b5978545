import assert from "node:assert/strict";
import { test } from "node:test";
import { api } from "../harness/client.ts";
import { ask, enter, ours, tokenOf } from "../harness/console.ts";
import { ok } from "../harness/expect.ts";
import { PASSWORD, person } from "../harness/fixtures.ts";
import { nextCode } from "../harness/totp.ts";
import { startServer } from "../harness.ts";
import { honest, startFakeLdap } from "../peers/ldap-fake.ts";

const PAGE = "/console/account/identities";

test("the form that unlinks an identity asks for a code where the account has a second factor, and for none before", async (t) => {
	const server = await startServer();
	t.after(() => server.close());
	const client = api(server);
	const root = await person(client, "root");
	const { token } = root;
	const directory = await startFakeLdap(honest);
	t.after(directory.stop);
	const config = { url: directory.url, ca_cert: directory.ca, user_base_dn: "ou=people,dc=test" };
	ok(await client.put("/auth/providers/corp", { type: "ldap", config }, { token }));
	const who = { username: "alice", password: "whatever", current_password: PASSWORD };
	ok(await client.post("/auth/ldap/corp/link", who, { token }));
	let session = await enter(server, root);
	const page = async () => (await ask(server, "GET", PAGE, session)).text;
	assert.match(await page(), /name="id" value=/);
	assert.doesNotMatch(await page(), /name="code"/);

	const asked = { type: "totp", current_password: PASSWORD };
	const { id, secret } = ok(await client.post<{ id: string; secret: string }>("/auth/factors", asked, { token }), 201);
	const first = { code: await nextCode(secret) };
	const confirmed = await client.post<{ recovery_codes: string[] }>(`/auth/factors/${id}/confirm`, first, { token });
	const [entering = "", code = ""] = ok(confirmed).recovery_codes;
	session = await enter(server, root, entering);
	const shown = await page();
	assert.match(shown, /name="code"/);
	const link = /name="id" value="([\w-]+)"/.exec(shown)?.[1] ?? "";
	const form_token = await tokenOf(server, session);
	const unlink = (more: Record<string, string>) =>
		ask(
			server,
			"POST",
			PAGE,
			{ ...session, ...ours(server) },
			{ form_token, id: link, current_password: PASSWORD, ...more },
		);
	assert.equal((await unlink({})).status, 400);
	assert.equal((await unlink({ code: "AAAAA-AAAAA" })).status, 403);
	assert.match(await page(), /Unlink corp/);
	assert.equal((await unlink({ code })).status, 303);
	assert.doesNotMatch(await page(), /Unlink corp/);
});
