import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { after, test } from "node:test";
import { MAX_CODES } from "../../sso/model.ts";
import { newId } from "../../testing/rows.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about short-lived facts. */
export async function briefFactContract(openStore: OpenStore): Promise<void> {
	const { accounts, attempts, sso, trusts } = (await openStore({ after })).store;

	const digest = () => hash("sha256", newId(), "buffer");

	test("the last use of a session is kept, and no other session's is shown in its place", async () => {
		const [one, other] = [newId(), newId()];
		const use = (ip: string) => ({ at: "2030-01-01T12:00:00.000Z", ip, agent: `Firefox "7" of ${ip}` });
		assert.deepEqual(await accounts.lastUses([one, other]), [undefined, undefined]);
		await accounts.noteUse(one, use("192.0.2.1"));
		await accounts.noteUse(one, use("192.0.2.2"));
		assert.deepEqual(await accounts.lastUses([other, one]), [undefined, use("192.0.2.2")]);
	});

	test("a finished login is taken once, by one of ten that bring its code at the same time, until it ends", async () => {
		const code = (until_ms: number) => ({ digest: digest(), sealed: Buffer.from(newId()), until_ms });
		const [one, ended, kept] = [code(2000), code(1500), code(2000)];
		for (const each of [one, ended, kept]) await sso.keepCode(each, 1000);
		const taken = await Promise.all(Array.from({ length: 10 }, () => sso.takeCode(one.digest, 1999)));
		assert.deepEqual(taken.filter(Boolean), [one.sealed]);
		assert.equal(await sso.takeCode(ended.digest, 1500), undefined);
		assert.equal(await sso.takeCode(digest(), 1500), undefined);
		const again = { ...kept, sealed: Buffer.from(newId()), until_ms: 3000 };
		await sso.keepCode(again, 1999);
		assert.deepEqual(await sso.takeCode(kept.digest, 2500), again.sealed);
	});

	test("very many finished logins leave the newest thousand", async () => {
		const codes = Array.from({ length: MAX_CODES + 2 }, (_, index) => ({
			digest: digest(),
			sealed: Buffer.from(newId()),
			until_ms: 10_000 + index,
		}));
		await Promise.all(codes.map((code) => sso.keepCode(code, 5000)));
		const [first, second, third] = codes;
		assert.equal(await sso.takeCode(first?.digest ?? assert.fail(), 5000), undefined);
		assert.equal(await sso.takeCode(second?.digest ?? assert.fail(), 5000), undefined);
		assert.deepEqual(await sso.takeCode(third?.digest ?? assert.fail(), 5000), third?.sealed);
	});

	test("failures are counted by kind and name, each once, and one that is too many makes its name wait", async () => {
		const backoff = { free: 3, first_ms: 60_000, doubles_every: 1 };
		const fail = (...names: string[]) =>
			attempts.add(
				"strangers",
				names.map((name) => ({ name, backoff })),
			);
		assert.deepEqual(await fail("pair a", "account a"), [1, 1]);
		assert.deepEqual(await fail("pair b", "account a"), [1, 2]);
		const before = await attempts.get("strangers", ["account a", "pair a", "nobody"]);
		assert.deepEqual(
			before.map(({ count, wait_ms }) => [count, wait_ms]),
			[
				[2, 0],
				[1, 0],
				[0, 0],
			],
		);
		assert.ok(
			before.every(({ count, left_ms }) => (count > 0 ? left_ms > 0 && left_ms <= 15 * 60_000 : left_ms === 0)),
		);
		assert.deepEqual(await fail("account a"), [3]);
		const [one] = await attempts.get("strangers", ["account a"]);
		assert.ok(one !== undefined && one.wait_ms > 0 && one.wait_ms <= 60_000, String(one?.wait_ms));
		await fail("account a");
		const [two] = await attempts.get("strangers", ["account a"]);
		assert.ok(two !== undefined && two.wait_ms > 60_000 && two.wait_ms <= 120_000, String(two?.wait_ms));
		assert.deepEqual(
			(await attempts.get("owners", ["account a"])).map(({ count, wait_ms }) => [count, wait_ms]),
			[[0, 0]],
		);
		assert.deepEqual(
			await Promise.all([attempts.fullest("strangers", "pair "), attempts.fullest("strangers", "account ")]),
			[1, 4],
		);
	});

	test("a JWT from a new source is reported once with the first address, and again after the source is forgotten", async () => {
		const [one, other] = [digest(), digest()];
		const note = (jwt: Buffer, ip: string) => trusts.noteSource({ digest: jwt, payer: "ada", ip });
		assert.equal(await note(one, "192.0.2.1"), undefined);
		assert.equal(await note(one, "192.0.2.1"), undefined);
		assert.equal(await note(other, "192.0.2.2"), undefined, "another JWT");
		const noted = await Promise.all(Array.from({ length: 5 }, () => note(one, "192.0.2.2")));
		assert.deepEqual(noted.filter(Boolean), ["192.0.2.1"]);
		await trusts.forgetSource(one, "192.0.2.2");
		assert.equal(await note(one, "192.0.2.2"), "192.0.2.1");
		const others = await Promise.all(Array.from({ length: 30 }, (_, at) => note(one, `198.51.100.${at}`)));
		assert.equal(others.filter(Boolean).length, 14, "sixteen of one JWT");
	});

	test("failures at the same time are all counted", async () => {
		const failures = [{ name: "source" }, { name: "pair" }];
		await Promise.all(Array.from({ length: 20 }, () => attempts.add("causes", failures)));
		assert.deepEqual(await attempts.add("causes", failures), [21, 21]);
	});
}
