/* Two servers that share one database on a real PostgreSQL, and what they notice and count together. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { api } from "../harness/client.ts";
import { events } from "../harness/events.ts";
import { ok, refused } from "../harness/expect.ts";
import { bind, machine, type Person, person, realm, secret, secretPath } from "../harness/fixtures.ts";
import { gitlabClaims, type Issuer, startIssuer } from "../peers/issuer.ts";
import { skipWithoutPostgres } from "../peers/postgres.ts";
import { type SharingServers, startBalancedServers } from "./sharing-servers.ts";

const options = { skip: skipWithoutPostgres };

const ends = new AsyncDisposableStack();
let world: SharingServers;
let issuer: Issuer;
let slug: string;

after(() => ends.disposeAsync());
before(async () => {
	if (skipWithoutPostgres !== false) return;
	world = await startBalancedServers({
		SVC_TRUSTS_PRIVATE_ISSUERS: "127.0.0.1",
		SVC_TRUSTED_PROXIES: "127.0.0.1",
	});
	ends.defer(world.close);
	issuer = await startIssuer();
	ends.defer(issuer.stop);
	({ slug } = await realm(world.here, world.root));
});

const AUDIENCE = "https://svc.example.com";

test("a JWT that comes to another server from a second source is an event, once", options, async () => {
	const { here, there, root } = world;
	const { id, name } = await machine(here, root, slug, { role: "member", scopes: "read" });
	const trust = {
		...{ type: "gitlab", issuer: issuer.issuer, ca_cert: issuer.ca_cert, audience: AUDIENCE },
		claims: { project_id: "22", ref_path: "refs/heads/main", ref_protected: "true" },
	};
	ok(await here.put(`/realms/${slug}/machines/${name}/trusts/ci`, trust, { token: root.token }));
	const jwt = issuer.mint(gitlabClaims(issuer.issuer, AUDIENCE, Math.floor(Date.now() / 1000)));
	const exchange = async (on: typeof here, ip: string) =>
		ok(await on.post("/auth/jwt", { realm: slug, machine: name, jwt }, { headers: { "x-forwarded-for": ip } }));
	await exchange(here, "192.0.2.1");
	for (const on of [there, here, there]) await exchange(on, "192.0.2.2");
	await exchange(there, "192.0.2.1");
	const seen = await events(here, root, `type=machine.jwt.second_source&actor=${id}`);
	assert.deepEqual(
		seen.map(({ data: { first_ip, ip } }) => [first_ip, ip]),
		[["192.0.2.1", "192.0.2.2"]],
	);
});

/** Writes down twenty events in each of the next thirty seconds for those who have caused one, however slow this machine is. */
const FILL = `UPDATE svc.busy_caller SET ends_at = (now + 60000)::bigint, times = ARRAY(
	SELECT now + second * 1000 FROM generate_series(0, 30) AS second, generate_series(1, 20))
	FROM (SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now) AS clock`;

test(
	"while the database has little room, the events of an account at both servers count together",
	options,
	async () => {
		const { servers, root } = world;
		await secret(world.here, root, slug, "KEY", "a value");
		const other = await person(world.here, "other");
		await bind(world.here, root, slug, other, "viewer");
		for (const server of servers) await server.restart({ SVC_DATABASE_BYTES: `${2 ** 20}` });
		const [here, there] = servers.map((server) => api(server));
		assert.ok(here && there);
		const read = (on: typeof here, { token }: Person) => on.get(secretPath(slug, "KEY"), { token });
		ok(await read(here, root));
		world.runSql(FILL);
		for (const on of [there, here]) {
			const answer = await read(on, root);
			refused(answer, 429, "rate_limited");
			assert.match(answer.text, /low_disk_events_per_second/);
			assert.equal(answer.headers["retry-after"], "1");
		}
		ok(await read(there, other));
		world.runSql("DELETE FROM svc.busy_caller");
		ok(await read(there, root));
	},
);
