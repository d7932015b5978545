import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { readConfig } from "../../packages/server/src/config.ts";
import type { KeyPurpose, KeyRow } from "../../packages/server/src/crypto/keyring-model.ts";
import { loadMasterKey } from "../../packages/server/src/crypto/master-key.ts";
import { createRowMacs } from "../../packages/server/src/crypto/row-macs.ts";
import { dataKey } from "../../packages/server/src/crypto/seal.ts";
import { importMaster, unwrapKey } from "../../packages/server/src/crypto/wrap.ts";
import { sealPasskey } from "../../packages/server/src/factors/use.ts";
import { openWriter } from "../../packages/server/src/store/sqlite/open.ts";
import { continueTip, openChain } from "../../packages/server/src/store/sqlite/tip.ts";
import { system } from "../../packages/server/src/system.ts";

/** The passkeys' names, each with its host. */
export const PASSKEYS: Readonly<Record<string, string>> = { laptop: "svc.example.com", phone: "other.example.com" };

type Database = ReturnType<typeof openWriter>;

/** Reads the instance's keys of a purpose. */
type KeysOf = (purpose: KeyPurpose) => { id: Buffer; bytes: Buffer }[];

/**
 * Writes rows with the keys of a stopped server: the realms that engines served before a configuration named them, which only a migration writes, and
 * passkeys, which only a browser makes.
 * @param holder id of the passkeys' owner
 */
export async function addOfflineRows(data: string, holder: string): Promise<void> {
	const { key } = await loadMasterKey(readConfig({ SVC_DATA_DIR: data }, data), undefined, system);
	const master = importMaster(key.reveal());
	const db = openWriter(join(data, "svc.db"));
	const keysOf: KeysOf = (purpose) => {
		const rows = db.prepare("SELECT * FROM keyring WHERE purpose = ? AND realm_id = ''").all(purpose) as KeyRow[];
		return rows.map((row) => ({ id: row.id, bytes: unwrapKey(master, row) ?? assert.fail("another master key") }));
	};
	const passkeys = await makePasskeys(keysOf, holder);
	const chain = openChain(db);
	const keeper = continueTip(db, chain, createRowMacs(keysOf("rows"), system.randomBytes));
	db.exec("BEGIN IMMEDIATE");
	keeper.begin();
	db.exec(`INSERT INTO engine_former_realm (engine, realm_id) SELECT 'documentdb', id FROM realm;
		INSERT INTO engine_former_realm (engine, realm_id) SELECT 'containerorch', max(id) FROM realm`);
	addPasskeys(db, passkeys);
	chain.finish();
	keeper.seal();
	db.exec("COMMIT");
	db.close();
}

type Passkey = Awaited<ReturnType<typeof makePasskeys>>[number];

function makePasskeys(keysOf: KeysOf, user_id: string) {
	const [key = assert.fail("no key")] = keysOf("record");
	const keyring = { record: async () => dataKey(key.id, key.bytes) };
	const now = system.now().toISOString();
	return Promise.all(
		Object.entries(PASSKEYS).map(async ([name, rp_id], index) => {
			const row = { id: system.uuid(), user_id, type: "passkey" as const, name, rp_id, last_step: index + 1 };
			const made = { credential_id: randomBytes(16).toString("base64url"), public_key: randomBytes(77) };
			const sealed = await sealPasskey({ keyring, system }, row, made);
			return { ...row, sealed, created_at: now, confirmed_at: now };
		}),
	);
}

function addPasskeys(db: Database, passkeys: readonly Passkey[]): void {
	const add = db.prepare(
		`INSERT INTO factor (id, user_id, type, name, rp_id, sealed, last_step, created_at, confirmed_at)
		VALUES (@id, @user_id, @type, @name, @rp_id, @sealed, @last_step, @created_at, @confirmed_at)`,
	);
	for (const passkey of passkeys) add.run(passkey);
}
