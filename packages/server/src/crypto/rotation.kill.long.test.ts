import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { createCheckpointer } from "../audit/checkpoints.ts";
import { proveLog } from "../audit/proof.ts";
import { openValue, sealValue } from "../secrets/value.ts";
import { createTestLog } from "../testing/log.ts";
import {
	DATA_STEPS,
	MASTER_STEPS,
	NEXT,
	type RECOVERY_STEPS,
	type Step,
	type Task,
} from "../testing/rotation-process.ts";
import { anEvent, aVersion } from "../testing/rows.ts";
import { addAccount, addRealm } from "../testing/rules.ts";
import { type Cleanup, makeFolder, openTestStore } from "../testing/store.ts";
import { createTestSystem } from "../testing/system.ts";
import { openKeyring } from "./keyring.ts";
import { loadMasterKey } from "./master-key.ts";
import { rotateMasterKey } from "./rotation.ts";
import { sealPortable } from "./seal.ts";
import { createSessionTokens, SESSION_SECONDS } from "./session.ts";
import { masterFingerprint } from "./wrap.ts";

const PROCESS = join(import.meta.dirname, "../testing/rotation-process.ts");
const REALMS = 12;
const NEW = masterFingerprint(NEXT);
const system = createTestSystem();

/** Starts as the server does: settles the key file, then opens the keyring with the key in it. */
async function start(t: Cleanup, directory: string) {
	const { store } = await openTestStore(t, directory, false);
	const sources = {
		credentials_dir: undefined,
		master_key_file: undefined,
		data_dir: directory,
		master_key: undefined,
	};
	const master = await loadMasterKey(sources, await store.keys.fingerprint(), system);
	const keyring = await openKeyring({ keys: store.keys, guard: store.guard, master: master.key.reveal(), system });
	return { store, master, keyring, system, sessions: createSessionTokens(() => keyring.session(), system) };
}

/** Makes a data directory as a server leaves it, with something made with every key. */
async function makeServer() {
	const directory = await makeFolder({ after });
	const needs = await start({ after }, directory);
	const { store, keyring, sessions, master } = needs;
	const owner = await addAccount(store);
	const ids: string[] = [];
	for (let count = 0; count < REALMS; count++) {
		const realm = await addRealm(store, owner, { keyring });
		ids.push(realm.id);
		for (const pre_encrypted of [false, true]) {
			const version = aVersion(realm.id, `key-${pre_encrypted}`, { pre_encrypted });
			const text = `value ${count}`;
			const inner = pre_encrypted ? sealPortable(keyring.portable(), text, system.randomBytes) : text;
			await store.secrets.set({ ...version, value: await sealValue(needs, { ...version }, inner) }, anEvent());
		}
	}
	const iat = system.now().getTime() / 1000;
	const token = await sessions.sign({ sub: owner.id, jti: "session", iat, exp: iat + SESSION_SECONDS });
	const sign = await createCheckpointer({ ...needs, log: createTestLog().log });
	await store.audit.append(anEvent());
	await sign(true);
	await store.close();
	return { directory, ids, token, old: master.fingerprint };
}

const server = await makeServer();

/** Cache of compiled code, so that the processes need not compile it again. */
const compiled = await makeFolder({ after });

/** Runs the process. @returns the signal that ended it, and its error output */
async function run(directory: string, task: Task, step: Step | "never"): Promise<[signal: unknown, said: string]> {
	const child = spawn(process.execPath, [PROCESS, directory, task, step], {
		stdio: ["ignore", "ignore", "pipe"],
		env: { NODE_COMPILE_CACHE: compiled },
	});
	let said = "";
	child.stderr.setEncoding("utf8").on("data", (text: string) => {
		said += text;
	});
	const [, signal] = await once(child, "close");
	return [signal, said];
}

/** Runs the process until it kills itself. */
async function runAndDie(directory: string, task: Task, step: Step): Promise<void> {
	const [signal, said] = await run(directory, task, step);
	assert.equal(signal, "SIGKILL", `it did not get to the step ${step}: ${said}`);
}

async function copyOf(from: string, t: Cleanup): Promise<string> {
	const directory = await makeFolder(t);
	await cp(from, directory, { recursive: true });
	return directory;
}

// Only a process that ends by itself saves what it compiled.
assert.deepEqual(await run(await copyOf(server.directory, { after }), "recover", "never"), [null, ""]);

const images = await makeFolder({ after });
const killed = new Map<Step, Promise<string>>();

/** Returns what a rotation of the master key leaves when it is killed at a step; each step is killed once. */
function killedAt(step: (typeof MASTER_STEPS)[number]): Promise<string> {
	const left = killed.get(step) ?? kill(step);
	killed.set(step, left);
	return left;
}

async function kill(step: Step): Promise<string> {
	const directory = join(images, step);
	await cp(server.directory, directory, { recursive: true });
	await runAndDie(directory, "master", step);
	return directory;
}

/** Starts a server on what is left and reads everything back. @param fingerprint of the expected master key */
async function assertWhole(t: TestContext, directory: string, fingerprint: string) {
	const needs = await start(t, directory);
	const { store, keyring, master, sessions } = needs;
	assert.deepEqual([master.fingerprint, keyring.fingerprint], [fingerprint, fingerprint]);
	assert.deepEqual(
		(await readdir(directory)).filter((name) => name.startsWith("master")),
		["master.key"],
	);
	for (const [index, id] of server.ids.entries()) {
		const listed = await store.secrets.list(id, "dev", "", 10);
		const rows = (await store.secrets.versionsAt(listed)).filter((row) => row !== undefined);
		assert.deepEqual(await Promise.all(rows.map((row) => openValue(needs, row))), [`value ${index}`, `value ${index}`]);
	}
	assert.equal((await sessions.verify(server.token))?.jti, "session");
	return needs;
}

const COMMITTED = MASTER_STEPS.indexOf("after the commit");

for (const [index, step] of MASTER_STEPS.entries()) {
	const fingerprint = index < COMMITTED ? server.old : NEW;
	const which = index < COMMITTED ? "old" : "new";
	test(`a rotation of the master key that is killed ${step} leaves the ${which} one, and can be done again`, async (t) => {
		const directory = await copyOf(await killedAt(step), t);
		const needs = await assertWhole(t, directory, fingerprint);
		const { report, checkpoints } = await proveLog(needs.store.audit, needs.keyring, undefined);
		assert.deepEqual([report.status, checkpoints], ["intact", 1]);
		const next = Buffer.alloc(32, 3);
		const { store, keyring, master } = needs;
		const again = { keys: store.keys, keyring, home: master.home, system };
		await rotateMasterKey(again, next, anEvent({ type: "key.rotated" }));
		assert.equal((await readFile(join(directory, "master.key"), "utf8")).trim(), next.toString("hex"));
		assert.equal(await store.keys.fingerprint(), masterFingerprint(next));
	});
}

const TWICE: [first: (typeof MASTER_STEPS)[number], second: (typeof RECOVERY_STEPS)[number]][] = [
	["while the draft of the staged file is empty", "before removing"],
	["while the staged file is a draft", "after removing"],
	["before the commit", "before removing"],
	["before the commit", "after removing"],
	["after the commit", "before renaming"],
	["after the commit", "after renaming"],
];
for (const [first, second] of TWICE) {
	test(`a start that is killed ${second} what a rotation killed ${first} left, is made good by the next`, async (t) => {
		const directory = await copyOf(await killedAt(first), t);
		await runAndDie(directory, "recover", second);
		await assertWhole(t, directory, first === "after the commit" ? NEW : server.old);
	});
}

const ROTATIONS: [task: Task, step: (typeof DATA_STEPS)[number]][] = [
	...DATA_STEPS.map((step): (typeof ROTATIONS)[number] => [`record ${server.ids[0]}`, step]),
	["portable ", "before the commit"],
];
for (const [task, step] of ROTATIONS) {
	const [purpose = "", realm_id = ""] = task.split(" ");
	const count = step === "after the commit" ? 2 : 1;
	test(`a rotation of a ${purpose} key that is killed ${step} leaves ${count} of them and everything readable`, async (t) => {
		const directory = await copyOf(server.directory, t);
		await runAndDie(directory, task, step);
		const { store } = await assertWhole(t, directory, server.old);
		const keys = (await store.keys.ofRealm(realm_id)).filter((key) => key.purpose === purpose);
		assert.equal(keys.length, count);
		assert.equal(keys.filter((key) => key.state === "active").length, 1);
	});
}
