/* A machine counts toward the account that made it: nobody uses up another account's limits by giving it a realm with busy machines. Design: §13 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { eventually } from "../harness/engine-world.ts";
import { ok } from "../harness/expect.ts";
import { bind, machine, machineToken, type Person, person, realm, secret, secretPath } from "../harness/fixtures.ts";
import { openSecure } from "../harness/sockets.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
let client: Api;

before(async () => {
	server = await startServer();
	client = api(server);
	await person(client, "root");
});
after(() => server.close());

const KIB = 1024;

/** Bytes of the answers that two connections leave unread. The larger one is more than twice the smaller one, of which a machine's part counts double. */
const [SMALL, LARGE] = [50 * KIB, 150 * KIB];

/** Bytes of answers on one connection, which are more than the kernel takes. */
const AHEAD = 16 * KIB * KIB;

/** Makes a realm with one large value, and another account its admin. */
async function realmWith(owner: Person, bytes: number, other: Person): Promise<string> {
	const { slug } = await realm(client, owner);
	await bind(client, owner, slug, other, "admin");
	await secret(client, owner, slug, "LARGE", "v".repeat(bytes));
	return slug;
}

/** Asks for the value again and again, and reads no answer. @returns the bytes of one answer, and the end of the connection */
async function leaveUnread(slug: string, token: string): Promise<{ bytes: number; end: () => void }> {
	const { text } = await client.get(secretPath(slug, "LARGE"), { token });
	const bytes = Buffer.byteLength(text);
	const [socket] = await openSecure(server, 1, "127.0.0.2");
	assert.ok(socket !== undefined);
	const { host } = new URL(server.url);
	const head = `Host: ${host}\r\nAuthorization: Bearer ${token}`;
	const request = `GET /api/v1${secretPath(slug, "LARGE")} HTTP/1.1\r\n${head}\r\n\r\n`;
	socket.pause().write(request.repeat(Math.ceil(AHEAD / bytes)));
	return { bytes, end: () => void socket.destroy() };
}

/** Reads how much of two limits is used: by all, and by the account that uses most. */
async function unread(): Promise<{ all: number; most: number }> {
	const { text } = await client.send("GET", "/metrics");
	const used = (name: string) =>
		Number(new RegExp(`^svc_limit_used\\{limit="${name}"\\} (\\d+)$`, "m").exec(text)?.[1]);
	return { all: used("answer_bytes"), most: used("answer_bytes_per_account") };
}

for (const [what, leaves] of [
	["stays as an admin", false],
	["leaves the realm", true],
] as const)
	test(`machines of a realm use up none of the new owner's limits when the former one ${what}`, async () => {
		const [maker, heir] = [await person(client, "maker"), await person(client, "heir")];
		const given = await realmWith(maker, SMALL, heir);
		const own = await realmWith(heir, LARGE, maker);
		const { name } = await machine(client, maker, given);
		const { token } = await machineToken(client, maker, given, name);
		const raw = JSON.stringify({ owner: heir.id });
		ok(await client.send("PUT", `/api/v1/realms/${given}`, { token: maker.token, raw }));
		if (leaves) ok(await client.post(`/realms/${given}/leave`, {}, { token: maker.token }));
		const [theirs, mine] = [await leaveUnread(given, token), await leaveUnread(own, heir.token)];
		let used = await unread();
		await eventually("both are unread", async () => {
			used = await unread();
			return used.all === theirs.bytes + mine.bytes;
		});
		// An account's use is shown in proportion to what others leave free: a little more than it is.
		assert.ok(used.most >= mine.bytes && used.most < mine.bytes + KIB, `${used.most} of ${mine.bytes}`);
		for (const { end } of [theirs, mine]) end();
		await eventually("both are gone", async () => (await unread()).all === 0);
	});
