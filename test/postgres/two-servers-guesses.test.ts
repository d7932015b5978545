/* Guesses at two servers that share one database on a real PostgreSQL. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { events } from "../harness/events.ts";
import { ok, refused } from "../harness/expect.ts";
import { person } from "../harness/fixtures.ts";
import { skipWithoutPostgres } from "../peers/postgres.ts";
import { type SharingServers, startBalancedServers } from "./sharing-servers.ts";

const options = { skip: skipWithoutPostgres };

const ends = new AsyncDisposableStack();
let world: SharingServers;

after(() => ends.disposeAsync());
before(async () => {
	if (skipWithoutPostgres !== false) return;
	world = await startBalancedServers();
	ends.defer(world.close);
});

/** Lets the names that have to wait do so for longer, however slow this machine is. @returns their kinds and counts */
function prolongWaits(): string {
	const found = world.runSql(
		"SELECT string_agg(kind || ' ' || count, ', ') FROM svc.attempt WHERE waits_until > '-infinity'",
	);
	world.runSql(
		"UPDATE svc.attempt SET waits_until = clock_timestamp() + interval '10 min' WHERE waits_until > '-infinity'",
	);
	return found;
}

test("five failed logins at two servers make the source wait at both, but not for others", options, async () => {
	const { here, there, root } = world;
	const login = (on: typeof here, email: string, password: string) => on.post("/auth/login", { email, password });
	for (let count = 0; count < 5; count++)
		refused(await login(count % 2 === 0 ? here : there, "nobody@example.com", "a wrong password"), 401);
	assert.equal(prolongWaits(), "strangers 5");
	for (const on of [there, here]) {
		const answer = await login(on, "nobody@example.com", "a wrong password");
		refused(answer, 429, "rate_limited");
		assert.match(answer.text, /failed_logins_per_account_and_source/);
		assert.ok(Number(answer.headers["retry-after"]) > 5);
	}
	const ada = await person(here, "ada");
	ok(await login(there, ada.email, ada.password));
	assert.equal((await events(there, root, "type=auth.login.failed")).length, 5);
	world.runSql("DELETE FROM svc.attempt");
});

test("an owner's failures at two servers make the owner wait at both", options, async () => {
	const { here, there } = world;
	const bob = await person(here, "bob");
	const right = { email: bob.email, password: bob.password };
	ok(await there.post("/auth/login", right));
	for (let count = 0; count < 5; count++)
		refused(await (count % 2 === 0 ? here : there).post("/auth/login", { ...right, password: "a wrong one" }), 401);
	assert.equal(prolongWaits(), "owners 5");
	for (const on of [here, there]) refused(await on.post("/auth/login", right), 429, "rate_limited");
});
