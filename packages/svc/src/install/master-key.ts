import { existsSync, lstatSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "@svc/cli/failure";
import { FatalError } from "@svc/server/errors";
import { readKeyFile } from "@svc/server/master-key-file";
import { system } from "@svc/server/system";
import { masterFingerprint } from "@svc/server/wrap";
import type { Layout } from "./layout.ts";
import type { Run } from "./run.ts";
import type { Step } from "./steps.ts";

/** A master key's length. Design: §5 */
const KEY_BYTES = 32;

/** Plan for the server's master key. */
export interface KeyPlan {
	/** Line of the unit. */
	readonly credential: string;
	/** Its file, as the installed machine sees it. */
	readonly file: string;
	readonly is_sealed: boolean;
	/** 16 hexadecimal digits; absent when the key was there before, or is only to be made. */
	readonly fingerprint?: string;
	readonly steps: readonly Step[];
}

/** The caller's options for the master key. */
export interface MasterKeyOptions {
	/** File with the key to use, in place of a new one. */
	readonly masterKeyFrom?: string;
	/** File that gets a copy of a new key. */
	readonly masterKeyCopy?: string;
	readonly dryRun?: boolean;
}

/**
 * Decides on the master key: an installed one stays; otherwise it comes from a file or is made. systemd encrypts it for this
 * machine where it can; then no disk holds it unencrypted.
 * @throws Failure when there is data already and its key is not named
 * Design: §5
 */
export async function planMasterKey(layout: Layout, options: MasterKeyOptions, run: Run): Promise<KeyPlan> {
	const { at, sealed_key, plain_key } = layout;
	const installed = [sealed_key, plain_key].find((file) => existsSync(at(file)));
	if (installed !== undefined) return keepInstalled(layout, installed, options);
	const key = await findKey(layout, options);
	const text = key === undefined ? "" : `${key.toString("hex")}\n`;
	const sealed = options.dryRun === true ? await pretendToSeal(run) : await seal(text, layout, run);
	const is_sealed = sealed !== undefined;
	const file = is_sealed ? sealed_key : plain_key;
	const secret = `(the master key${is_sealed ? ", encrypted for this machine" : ""})`;
	return {
		credential: credentialLine(layout, file),
		file,
		is_sealed,
		...(key === undefined ? {} : { fingerprint: masterFingerprint(key) }),
		steps: [...copySteps(options, text), { do: "write", path: at(file), mode: 0o400, content: sealed ?? text, secret }],
	};
}

function keepInstalled(layout: Layout, file: string, options: MasterKeyOptions): KeyPlan {
	if (options.masterKeyFrom !== undefined || options.masterKeyCopy !== undefined) {
		throw new Failure("usage", `${file} holds the master key already, and it stays`, {
			hint: `\`systemd-creds decrypt --name=master-key ${layout.sealed_key} -\` shows an encrypted one`,
		});
	}
	return { credential: credentialLine(layout, file), file, is_sealed: file === layout.sealed_key, steps: [] };
}

/** The line of the unit. The server looks for a credential of the name `master-key`. */
function credentialLine({ sealed_key }: Layout, file: string): string {
	return `${file === sealed_key ? "LoadCredentialEncrypted" : "LoadCredential"}=master-key:${file}`;
}

/** @returns undefined when a key would have to be made */
async function findKey({ at, data_dir }: Layout, options: MasterKeyOptions): Promise<Buffer | undefined> {
	if (options.masterKeyFrom !== undefined) return readKey(options.masterKeyFrom);
	if (existsSync(at(join(data_dir, "svc.db")))) {
		throw new Failure("failed", `${data_dir} already has data, which only its own master key can open`, {
			hint: `name the file with that key: --master-key-from ${join(data_dir, "master.key")}, or your copy of it`,
		});
	}
	return options.dryRun === true ? undefined : system.randomBytes(KEY_BYTES);
}

async function readKey(file: string): Promise<Buffer> {
	// The server's account may have put a link where its own key was, in order to be given another's.
	if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true)
		throw new Failure("usage", "the file of --master-key-from is a link: name the file itself");
	try {
		const key = await readKeyFile(file, undefined);
		if (key !== undefined) return key;
	} catch (error) {
		throw error instanceof FatalError ? new Failure("failed", error.message) : error;
	}
	throw new Failure("failed", "the file of --master-key-from does not exist");
}

/** The copy comes first: nothing is ever sealed with a key that could not be saved. */
function copySteps({ masterKeyCopy }: MasterKeyOptions, content: string): Step[] {
	if (masterKeyCopy === undefined) return [];
	if (existsSync(masterKeyCopy))
		throw new Failure("usage", "the file of --master-key-copy already exists: name a new one");
	return [{ do: "write", path: masterKeyCopy, mode: 0o600, content, secret: "(the master key)" }];
}

/** Encrypts the key, and checks that it can be decrypted; undefined where systemd cannot. */
async function seal(text: string, { root }: Layout, run: Run): Promise<string | undefined> {
	// The machine that prepares a disk has another security chip than the one that will run it.
	const means = root === undefined ? "auto" : "host";
	const sealed = await run(["systemd-creds", "encrypt", "--name=master-key", `--with-key=${means}`, "-", "-"], text);
	if (sealed.code !== 0) return undefined;
	const opened = await run(["systemd-creds", "decrypt", "--name=master-key", "-", "-"], sealed.stdout);
	return opened.code === 0 && opened.stdout === text ? sealed.stdout : undefined;
}

/** Real encryption would make a key of the machine when there is none yet. */
async function pretendToSeal(run: Run): Promise<string | undefined> {
	return (await run(["systemd-creds", "--version"])).code === 0 ? "" : undefined;
}
