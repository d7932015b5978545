/* What holds for 30 days, and then no longer, by the server's own clock. Design: §15 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { eventually } from "../harness/engine-world.ts";
import { events } from "../harness/events.ts";
import { ok, refused } from "../harness/expect.ts";
import { bind, machine, PASSWORD, type Person, person, realm, secret, secretPath } from "../harness/fixtures.ts";
import type { Login } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";

/** The server's clock starts this many days ago: its 30th day is yesterday. */
const FIRST = 31;
const DAY_S = 24 * 60 * 60;

let server: Server;
let client: Api;
let ada: Person;
let bob: Person;
let slug: string;

/** Deleted on the first day: of each two, the first is restored in time and the second is not. */
const KEYS = ["IN_TIME", "TOO_LATE"] as const;
const gone: string[] = [];

const by = ({ token }: Person) => ({ token });
const restoreSecret = (key: string) => client.post(`${secretPath(slug, key)}/restore`, {}, by(ada));
const restoreRealm = (name = "") => client.post(`/realms/${name}/restore`, {}, by(ada));
const madeBy = async ({ id }: Person) =>
	ok(await client.get<{ machines: object[] }>(`/users/${id}/made`, by(ada))).machines.length;
const listed = async () => [
	ok(await client.get<{ secrets: object[] }>(`/realms/${slug}/secrets?deleted=true`, by(ada))).secrets.length,
	ok(await client.get<{ realms: object[] }>("/realms?deleted=true", by(ada))).realms.length,
];

/** Signs Ada in by the server's present clock. @returns the end of her session, in seconds */
async function signIn(): Promise<number> {
	const { token, expires_at } = ok(await client.post<Login>("/auth/login", { email: ada.email, password: PASSWORD }));
	ada = { ...ada, token };
	return expires_at;
}

/** Starts the server again on another of its days: its chores run then. */
async function startOn(day: number): Promise<number> {
	await server.restart({ SHIFTED_DAYS: String(FIRST - day) });
	client = api(server);
	return signIn();
}

before(async () => {
	const env = { SHIFTED_DAYS: String(FIRST) };
	server = await startServer({ program: "test/harness/shifted-server.ts", env });
	client = api(server);
	[ada, bob] = [await person(client, "ada"), await person(client, "bob")];
	({ slug } = await realm(client, ada));
	await bind(client, ada, slug, bob, "admin");
	await machine(client, bob, slug);
	for (const key of KEYS) {
		await secret(client, ada, slug, key, "a value");
		ok(await client.delete(secretPath(slug, key), by(ada)));
		const { slug: other } = await realm(client, ada);
		ok(await client.delete(`/realms/${other}`, by(ada)));
		gone.push(other);
	}
});
after(() => server.close());

test("on its 29th day a deletion can be undone; on its 30th it cannot, and the server's chores have removed it", async () => {
	const end = await startOn(29);
	assert.deepEqual(await listed(), [2, 2]);
	ok(await restoreSecret(KEYS[0]));
	ok(await restoreRealm(gone[0]));
	assert.equal(await madeBy(bob), 1);

	// A day passes without chores, which run hourly: what is too old is not shown, though it is there.
	process.kill(server.pid, "SIGUSR2");
	await eventually("the server's clock is a day ahead", async () => (await signIn()) >= end + DAY_S);
	assert.deepEqual(await listed(), [0, 0]);
	refused(await restoreSecret(KEYS[1]), 404, "not_found");
	refused(await restoreRealm(gone[1]), 404, "not_found");
	assert.equal(await madeBy(bob), 0);
	assert.partialDeepStrictEqual(ok(await client.post("/revoke", { user_id: bob.id, with_made: true }, by(ada))), {
		machines: 0,
	});

	await startOn(30);
	// It ends only after its chores. With the clock set back, what they left would be there again.
	await startOn(29);
	assert.deepEqual(await listed(), [0, 0]);
	refused(await restoreSecret(KEYS[1]), 404, "not_found");
	refused(await restoreRealm(gone[1]), 404, "not_found");
	const purges = await events(client, ada, `type=secret.purge&realm=${slug}`);
	assert.deepEqual(
		purges.map(({ actor, data }) => [actor, data.key]),
		[["system", KEYS[1]]],
	);
	ok(await client.get(secretPath(slug, KEYS[0]), by(ada)));
	ok(await client.get(`/realms/${gone[0]}`, by(ada)));
});
