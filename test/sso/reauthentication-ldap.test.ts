/* Asking again for people without a password: a directory's password is asked for on the page. Design: §16 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ask, ours } from "../harness/console.ts";
import { PEOPLE, person, skipWithoutSlapd, startSlapd } from "../peers/slapd.ts";
import { type LdapWorld, startLdapWorld } from "./ldap-world.ts";
import { type Desk, deskOf, LATE, type Seat, seatOf, TARGET } from "./reauthentication-world.ts";

const [BOBS, CAROLS] = ["canary of bob's password", "canary of carol's password"];
const options = { skip: skipWithoutSlapd };

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());

let world: LdapWorld;
let desk: Desk;
let bob: Seat;

before(async () => {
	if (skipWithoutSlapd !== false) return;
	world = await startLdapWorld(LATE);
	ends.defer(world.close);
	desk = deskOf(world.server);
	const slapd = await startSlapd({ entries: person("bob", BOBS) + person("carol", CAROLS) });
	ends.defer(slapd.stop);
	const { ldaps_url: url, ca: ca_cert, bind_dn, bind_password } = slapd;
	await world.set("tree", { url, ca_cert, bind_dn, bind_password, user_base_dn: PEOPLE });
	bob = await enter("bob", BOBS);
	assert.equal(await desk.isAsked(bob), false, "the password has just confirmed him");
	await enter("carol", CAROLS);
	await desk.passTime(bob);
});

async function enter(username: string, password: string): Promise<Seat> {
	const { server } = world;
	const form = { provider: "tree", username, password };
	return seatOf(server, await ask(server, "POST", "/console/sign-in", ours(server), form));
}

test("Bob types the directory's password again, and nobody else's does", options, async () => {
	const page = await desk.arrive(bob, `/console/confirm?target=${encodeURIComponent(TARGET)}`);
	assert.match(page.text, /<form [^>]*aria-label="With tree">[\s\S]*name="username"[\s\S]*name="password"/);
	const confirm = (username: string, password: string) =>
		desk.confirm(bob, { provider: "tree", username, password, target: TARGET });
	await world.refusals();
	for (const [what, who, password, status] of [
		["a wrong password", "bob", "canary of nobody", 401],
		["no password", "bob", "", 400],
		["Carol", "carol", CAROLS, 403],
	] as const) {
		const answer = await confirm(who, password);
		await desk.isRefused(what, bob, answer, status);
		assert.doesNotMatch(answer.text, /canary/);
		assert.match(answer.text, /name="target" value="\/console\/account\/token">/, "the page to go on to is kept");
	}
	const reasons = (await world.refusals()).map(({ data }) => data.reason);
	assert.deepEqual(reasons, ["password", "another_person"]);
	const confirmed = await confirm("bob", BOBS);
	assert.deepEqual([confirmed.status, confirmed.headers.location], [303, TARGET]);
	assert.equal(await desk.isAsked(bob), false);
});
