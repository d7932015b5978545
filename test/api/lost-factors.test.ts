/* Second factors that their owner lost, and an instance admin ends while the server runs. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { events } from "../harness/events.ts";
import { fields, ok, refused } from "../harness/expect.ts";
import { apiToken, PASSWORD, type Person, person, realm } from "../harness/fixtures.ts";
import { addFactor } from "../harness/totp.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
let client: Api;
let root: Person;

before(async () => {
	server = await startServer();
	client = api(server);
	root = await person(client, "root");
});
after(() => server.close());

const drop = (id: string, token = root.token) =>
	client.delete<{ factors_dropped: number; sessions_ended: number }>(`/users/${id}/factors`, { token });
const signIn = ({ email }: Person, code?: string) =>
	client.post<{ token: string }>("/auth/login", { email, password: PASSWORD, code });

test("an instance admin ends somebody's factors, recovery codes and sessions; the password lets them add new ones", async () => {
	const ada = await person(client, "ada");
	const { slug } = await realm(client, ada);
	const { token } = await apiToken(client, ada, "read");
	const { recovery_codes } = await addFactor(client, ada);
	refused(await signIn(ada), 401, "second_factor_required");
	const ended = ok(await drop(ada.id));
	fields(ended, ["factors_dropped", "sessions_ended"]);
	assert.deepEqual(ended, { factors_dropped: 1, sessions_ended: 1 });
	refused(await client.get("/auth/whoami", { token: ada.token }), 401, "unauthorized");
	ok(await client.get("/auth/whoami", { token }));
	const again = { ...ada, token: ok(await signIn(ada)).token };
	const [recorded] = await events(client, root, "type=user.factors.dropped");
	assert.partialDeepStrictEqual(recorded, { actor: root.id, data: { user_id: ada.id, ...ended } });
	const [inRealm] = await events(client, again, `realm=${slug}&type=user.factors.dropped`);
	assert.partialDeepStrictEqual(inRealm, { actor: root.id, data: { user_id: ada.id } });
	const anew = await addFactor(client, again);
	refused(await signIn(ada, recovery_codes[0]), 401);
	ok(await signIn(ada, anew.recovery_codes[0]));
});

test("factors of another instance admin and of a disabled account can be ended, too; the account stays disabled", async () => {
	const [bob, carl] = [await person(client, "bob"), await person(client, "carl")];
	for (const who of [bob, carl]) await addFactor(client, who);
	const admin = { token: root.token, raw: JSON.stringify({ instance_admin: true }) };
	ok(await client.send("PUT", `/api/v1/users/${bob.id}`, admin));
	ok(await client.post(`/users/${carl.id}/disable`, undefined, { token: root.token }));
	assert.equal(ok(await drop(bob.id)).factors_dropped, 1);
	assert.equal(ok(await drop(carl.id)).factors_dropped, 1);
	refused(await signIn(carl), 401, "invalid_credentials");
	ok(await signIn(bob));
});

test("only an instance admin's session ends factors, never its own, and only of an existing account", async () => {
	const dora = await person(client, "dora");
	await addFactor(client, dora);
	refused(await drop(root.id, dora.token), 403, "forbidden");
	refused(await drop(dora.id, dora.token), 403, "forbidden");
	const { token } = await apiToken(client, root, "read,write,delete");
	refused(await drop(dora.id, token), 400, "unsupported_operation");
	await addFactor(client, root);
	refused(await drop(root.id), 409, "conflict");
	refused(await drop(crypto.randomUUID()), 404, "not_found");
	for (const who of [dora, root]) refused(await signIn(who), 401, "second_factor_required");
});
