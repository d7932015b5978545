import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { test } from "node:test";
import type { Environment } from "../messages.ts";
import { getSecret, setSecret } from "../secrets/secrets.ts";
import { actorOf } from "../testing/actor.ts";
import { isChainIntact } from "../testing/events.ts";
import { anEvent, aSession } from "../testing/rows.ts";
import { addAccount, addRealm } from "../testing/rules.ts";
import { type Cleanup, openTestStore } from "../testing/store.ts";
import { createTestSystem } from "../testing/system.ts";
import { openKeyring } from "./keyring.ts";
import { loadMasterKey } from "./master-key.ts";
import { rotateDataKey, rotateMasterKey } from "./rotation.ts";
import { masterFingerprint } from "./wrap.ts";

const WRITERS = 8;
const REALMS = 5;
const ROTATED = anEvent({ type: "key.rotated" });

/** Starts as the server does. */
async function start(t: Cleanup, used?: string) {
	const { store, directory } = await openTestStore(t, used, false);
	const system = createTestSystem();
	const sources = {
		credentials_dir: undefined,
		master_key_file: undefined,
		data_dir: directory,
		master_key: undefined,
	};
	const master = await loadMasterKey(sources, await store.keys.fingerprint(), system);
	const keyring = await openKeyring({ keys: store.keys, guard: store.guard, master: master.key.reveal(), system });
	return {
		store,
		directory,
		system,
		keyring,
		home: master.home,
		enforce_expiry: false,
		realm_bytes: 64 * 1024 * 1024,
		keys: store.keys,
	};
}

const environments: Environment[] = ["dev", "staging", "prod", "test"];
const nameOf = (slug: string, writer: number) => ({
	slug,
	key: `key-${writer}`,
	environment: environments[writer % 4] ?? "dev",
});

test("while keys are rotated without a pause, every secret that is written stays readable, then and after a restart", async (t) => {
	const needs = await start(t);
	const { store, keyring, directory } = needs;
	const owner = await addAccount(store);
	await store.accounts.openSession(
		{ session: aSession(owner.id, { jti: "session" }), password: owner.password },
		anEvent(),
	);
	const slugs: string[] = [];
	const newRealm = async () => void slugs.push((await addRealm(store, owner, { keyring })).slug);
	for (let count = 0; count < REALMS; count++) await newRealm();

	const last = new Map<string, string>();
	let isRotating = true;
	let written = 0;
	const write = async (writer: number) => {
		for (let count = 0; isRotating || count < 10; count++) {
			const { slug, key, environment } = nameOf(slugs[count % slugs.length] ?? "", writer);
			const value = `${slug} ${key} ${count}`;
			await setSecret(needs, actorOf(owner), slug, { key, environment, value, comment: "", pre_encrypted: false });
			last.set(JSON.stringify(nameOf(slug, writer)), value);
			assert.equal((await getSecret(needs, actorOf(owner), nameOf(slug, writer), "api")).value, value);
			written++;
		}
	};
	const rotate = async () => {
		for (let round = 1; round <= 6; round++) {
			await rotateMasterKey(needs, Buffer.alloc(32, round), ROTATED);
			const [realm] = await store.realms.list(owner.id, undefined, "", 100);
			await Promise.all([
				rotateDataKey(needs, "record", realm?.id ?? "", ROTATED),
				rotateDataKey(needs, "portable", "", ROTATED),
				newRealm(),
				rotateMasterKey(needs, Buffer.alloc(32, 100 + round), ROTATED),
			]);
		}
		isRotating = false;
	};
	await Promise.all([rotate(), ...Array.from({ length: WRITERS }, (_, writer) => write(writer))]);
	assert.ok(written > WRITERS * 10);

	const readAll = async (server: typeof needs) => {
		for (const [name, value] of last)
			assert.equal((await getSecret(server, actorOf(owner), JSON.parse(name), "api")).value, value);
	};
	await readAll(needs);
	await store.close();
	const again = await start(t, directory);
	assert.equal(again.keyring.fingerprint, masterFingerprint(Buffer.alloc(32, 106)));
	assert.deepEqual(
		(await readdir(directory)).filter((name) => name.startsWith("master")),
		["master.key"],
	);
	await readAll(again);
	assert.ok(await isChainIntact(again.store));
});
