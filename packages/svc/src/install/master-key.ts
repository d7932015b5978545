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

/** How the server gets its master key. */
export interface KeyPlan {
	/** Line of the unit. */
	readonly credential: string;
	/** Where it is kept, as the installed machine sees it. */
	readonly file: string;
	readonly is_sealed: boolean;
	/** 16 hexadecimal digits; absent when the key was there before, and when it is only to be made. */
	readonly fingerprint?: string;
	readonly steps: readonly Step[];
}

/** What the caller wants of the master key. */
export interface KeyWishes {
	/** File with the key to use, in place of a new one. */
	readonly masterKeyFrom?: string;
	/** File that gets a copy of a new key. */
	readonly masterKeyCopy?: string;
	readonly dryRun?: boolean;
}

/**
 * Decides on the master key: the one that is installed stays, else it is taken from a file, else made. systemd encrypts it for this
 * machine where it can; then it is on no disk as it is.
 * @throws Failure when there is data already and its key is not named
 * Design: §5
 */
export async function planMasterKey(layout: Layout, wishes: KeyWishes, run: Run): Promise<KeyPlan> {
	const { at, sealed_key, plain_key } = layout;
	const installed = [sealed_key, plain_key].find((file) => existsSync(at(file)));
	if (installed !== undefined) return keepInstalled(layout, installed, wishes);
	const key = await findKey(layout, wishes);
	const text = key === undefined ? "" : `${key.toString("hex")}\n`;
	const sealed = wishes.dryRun === true ? await pretendToSeal(run) : await seal(text, layout, run);
	const is_sealed = sealed !== undefined;
	const file = is_sealed ? sealed_key : plain_key;
	const secret = `(the master key${is_sealed ? ", encrypted for this machine" : ""})`;
	return {
		credential: credentialLine(layout, file),
		file,
		is_sealed,
		...(key === undefined ? {} : { fingerprint: masterFingerprint(key) }),
		steps: [...copySteps(wishes, text), { do: "write", path: at(file), mode: 0o400, content: sealed ?? text, secret }],
	};
}

function keepInstalled(layout: Layout, file: string, wishes: KeyWishes): KeyPlan {
	if (wishes.masterKeyFrom !== undefined || wishes.masterKeyCopy !== undefined) {
		throw new Failure("usage", `${file} holds the master key already, and it stays`, {
			hint: `\`systemd-creds decrypt --name=master-key ${layout.sealed_key} -\` shows an encrypted one`,
		});
	}
	return { credential: credentialLine(layout, file), file, is_sealed: file === layout.sealed_key, steps: [] };
}

/** `LoadCredentialEncrypted` and its kin name what the server looks for: `master-key`. */
function credentialLine({ sealed_key }: Layout, file: string): string {
	return `${file === sealed_key ? "LoadCredentialEncrypted" : "LoadCredential"}=master-key:${file}`;
}

/** @returns undefined when one would be made */
async function findKey({ at, data_dir }: Layout, wishes: KeyWishes): Promise<Buffer | undefined> {
	if (wishes.masterKeyFrom !== undefined) return readKey(wishes.masterKeyFrom);
	if (existsSync(at(join(data_dir, "svc.db")))) {
		throw new Failure("failed", `${data_dir} holds data already, which only its own master key opens`, {
			hint: `name the file with that key: --master-key-from ${join(data_dir, "master.key")}, or your copy of it`,
		});
	}
	return wishes.dryRun === true ? undefined : system.randomBytes(KEY_BYTES);
}

async function readKey(file: string): Promise<Buffer> {
	// The server's account may have laid it where its own key was, to be given another's.
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

/** The copy comes first: nothing is ever sealed with a key that could not be kept. */
function copySteps({ masterKeyCopy }: KeyWishes, content: string): Step[] {
	if (masterKeyCopy === undefined) return [];
	if (existsSync(masterKeyCopy))
		throw new Failure("usage", "the file of --master-key-copy exists already: name one that does not");
	return [{ do: "write", path: masterKeyCopy, mode: 0o600, content, secret: "(the master key)" }];
}

/** Encrypts it, and makes sure that it can be decrypted; undefined where systemd cannot. */
async function seal(text: string, { root }: Layout, run: Run): Promise<string | undefined> {
	// The security chip of the machine that prepares a disk is not the one that it will run with.
	const means = root === undefined ? "auto" : "host";
	const sealed = await run(["systemd-creds", "encrypt", "--name=master-key", `--with-key=${means}`, "-", "-"], text);
	if (sealed.code !== 0) return undefined;
	const opened = await run(["systemd-creds", "decrypt", "--name=master-key", "-", "-"], sealed.stdout);
	return opened.code === 0 && opened.stdout === text ? sealed.stdout : undefined;
}

/** Encrypting would make a key of the machine when there is none yet. */
async function pretendToSeal(run: Run): Promise<string | undefined> {
	return (await run(["systemd-creds", "--version"])).code === 0 ? "" : undefined;
}
