import { proveLog } from "../audit/proof.ts";
import type { Keyring } from "../crypto/keyring.ts";
import type { KeyRow, KeyStore } from "../crypto/keyring-model.ts";
import { hashFile } from "../file-hash.ts";
import { readManifest, type Signed, textOf, UnsoundBackup } from "./manifest.ts";
import type { Samples, Snapshot, SnapshotFacts } from "./model.ts";

/** Dependencies of checking a backup file. */
export interface CheckNeeds {
	openSnapshot(file: string): Snapshot;
	/** Opens a copy's keyring under the master key. @throws FatalError naming the required fingerprint */
	openKeys(keys: KeyStore): Promise<Keyring>;
	/** Opens each sealed row. @throws Error when one does not open */
	openSamples(keyring: Keyring, samples: Samples): Promise<void>;
}

/** Findings in a sound backup. */
export interface Sound extends Signed {
	/** Signed checkpoints of its audit log that were compared. */
	checkpoints: number;
	/** Keys that open under the master key. */
	keys: number;
	/** Sealed rows that opened. */
	samples: number;
}

/**
 * Checks a backup: every byte is as it was written, the database is sound, the audit log is unbroken up to the event that the manifest names, every
 * key opens under the master key, and so does one sealed row of each kind.
 * @throws UnsoundBackup saying what is wrong; FatalError naming the fingerprint of the required master key
 */
export async function checkBackup(needs: CheckNeeds, file: string): Promise<Sound> {
	const signed = await checkBytes(file);
	return withCopy(needs, file, async (copy) => {
		const facts = await copy.facts();
		if (facts.schema_problem !== "") throw new UnsoundBackup(facts.schema_problem);
		const [problem] = await copy.inspect();
		if (problem !== undefined) throw new UnsoundBackup(`its database is damaged: ${problem}`);
		const rows = await copy.keys();
		const keyring = await needs.openKeys(frozenKeys(facts.fingerprint, rows));
		checkSignature(keyring, signed, facts);
		const checkpoints = await checkLog(copy, keyring);
		await openEvery(keyring, rows);
		await checkRows(copy, keyring);
		const samples = await copy.samples();
		await needs.openSamples(keyring, samples).catch((cause) => {
			throw new UnsoundBackup("a sealed row in it cannot be opened: it was altered", { cause });
		});
		return { ...signed, checkpoints, keys: rows.length, samples: Object.values(samples).flat().length };
	});
}

/** Checks that every byte of a backup is as it was written. Nothing is said of who wrote its rows. @throws UnsoundBackup */
export async function checkBytes(file: string): Promise<Signed> {
	const signed = await readManifest(file);
	const { manifest } = signed;
	if ((await hashFile(file, manifest.bytes)) !== manifest.sha256) {
		throw new UnsoundBackup("it was altered: its SHA-256 differs from the one recorded when it was made");
	}
	return signed;
}

/** Queries a copy, then closes it. */
export async function withCopy<T>(
	{ openSnapshot }: Pick<CheckNeeds, "openSnapshot">,
	file: string,
	ask: (snapshot: Snapshot) => Promise<T>,
): Promise<T> {
	const copy = openSnapshot(file);
	try {
		return await ask(copy);
	} finally {
		await copy.close();
	}
}

/** Makes a read-only key store of a copy's keys. */
export function frozenKeys(fingerprint: string | undefined, rows: KeyRow[]): KeyStore {
	const refuse = () => Promise.reject(new Error("a copy is not changed"));
	return {
		fingerprint: async () => fingerprint,
		shared: async () => rows.filter((row) => row.realm_id === ""),
		ofRealm: async (realm_id) => rows.filter((row) => row.realm_id === realm_id),
		byId: async (id) => rows.find((row) => row.id.equals(id)),
		all: async () => rows,
		initialize: async () => "exists",
		rotate: refuse,
		renewRows: refuse,
		destroyRowKey: refuse,
		rewrap: async () => "changed",
	};
}

/** Checks that the instance itself signed the manifest, and that it matches the database. */
function checkSignature(keyring: Keyring, { manifest, key_id, signature }: Signed, facts: SnapshotFacts): void {
	const key = keyring.checkpoint().byId.get(key_id);
	if (key?.verify(textOf(manifest), signature) !== true) {
		throw new UnsoundBackup("its last line was not signed by the server whose data it holds");
	}
	const isMeant =
		manifest.fingerprint === facts.fingerprint &&
		manifest.schema === facts.schema &&
		manifest.events === facts.events &&
		manifest.last_hash === facts.last_hash.toString("hex");
	if (!isMeant) throw new UnsoundBackup("its last line describes another database");
}

async function checkLog({ audit }: Snapshot, keyring: Keyring): Promise<number> {
	const { report, checkpoints } = await proveLog(audit, keyring, undefined);
	if (report.status !== "intact") throw new UnsoundBackup(`its audit log was altered at event ${report.seq}`);
	return checkpoints;
}

/** A copy from before its rows authenticated themselves has no keys for them: it is restored, then adopted. */
async function checkRows(copy: Snapshot, keyring: Keyring): Promise<void> {
	const keys = keyring.rows();
	if (keys.length === 0) return;
	const [fault] = Object.values(await copy.checkIntegrity(keys)).flat();
	if (fault !== undefined) throw new UnsoundBackup(`another program altered it: ${fault} does not fit`);
}

/** Keys opened in one turn of the event loop: about 5 ms. */
const KEYS_PER_TURN = 500;

async function openEvery(keyring: Keyring, rows: KeyRow[]): Promise<void> {
	for (const [index, row] of rows.entries()) {
		if (!keyring.holds(row))
			throw new UnsoundBackup("a key in it cannot be opened with the master key: it was altered");
		if (index % KEYS_PER_TURN === KEYS_PER_TURN - 1) await new Promise(setImmediate);
	}
}
