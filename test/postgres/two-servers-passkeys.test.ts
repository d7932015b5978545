/* Passkeys at two servers that share one database on a real PostgreSQL, in a real browser with Chromium's own authenticator. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { startBrowser } from "../harness/browser.ts";
import { skipWithoutChromium } from "../harness/chromium.ts";
import { ask, ours } from "../harness/console.ts";
import { holdForm, makePasskey, signOut, takePasskeySeat, usePasskey } from "../harness/passkeys.ts";
import type { Server } from "../harness.ts";
import { skipWithoutPostgres } from "../peers/postgres.ts";
import { type SharingServers, startBalancedServers } from "./sharing-servers.ts";

const skip = skipWithoutPostgres === false ? skipWithoutChromium : skipWithoutPostgres;

const ends = new AsyncDisposableStack();
let world: SharingServers;
let browser: Browser;

after(() => ends.disposeAsync());
before(async () => {
	if (skip !== false) return;
	world = await startBalancedServers();
	ends.defer(world.close);
	browser = await startBrowser();
	ends.defer(() => browser.close());
});

test("what a passkey signed for one server is good on the other, and then on none", { skip }, async () => {
	const { servers, here, root } = world;
	const [first, second] = servers;
	const seat = await takePasskeySeat({ server: first, client: here, root, browser }, "ada");
	await makePasskey(seat);
	await signOut(seat);
	const hold = () => holdForm(seat, () => usePasskey(seat));
	for (const [server, other] of [
		[second, first],
		[first, second],
	] as const) {
		const { path, cookie, form } = await hold();
		const headers = { ...ours(first), host: new URL(first.url).host, cookie };
		const send = async (to: Server) => (await ask(to, "POST", path, headers, form)).status;
		assert.equal(await send(server), 303);
		for (const again of [other, server]) assert.equal(await send(again), 401);
	}
	await seat.close();
});
