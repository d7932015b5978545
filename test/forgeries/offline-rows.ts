import assert from "node:assert/strict";
import { join } from "node:path";
import { readConfig } from "../../packages/server/src/config.ts";
import type { KeyRow } from "../../packages/server/src/crypto/keyring-model.ts";
import { loadMasterKey } from "../../packages/server/src/crypto/master-key.ts";
import { createRowMacs } from "../../packages/server/src/crypto/row-macs.ts";
import { importMaster, unwrapKey } from "../../packages/server/src/crypto/wrap.ts";
import { openWriter } from "../../packages/server/src/store/sqlite/open.ts";
import { continueTip, openChain } from "../../packages/server/src/store/sqlite/tip.ts";
import { system } from "../../packages/server/src/system.ts";

/** Writes the rows of a table that only a migration fills, with the keys of a stopped server: the realms that engines served before a configuration named them. */
export async function addFormerRealms(data: string): Promise<void> {
	const { key } = await loadMasterKey(readConfig({ SVC_DATA_DIR: data }, data), undefined, system);
	const master = importMaster(key.reveal());
	const db = openWriter(join(data, "svc.db"));
	const rows = db.prepare("SELECT * FROM keyring WHERE purpose = 'rows'").all() as KeyRow[];
	const keys = rows.map((row) => ({ id: row.id, bytes: unwrapKey(master, row) ?? assert.fail("another master key") }));
	const macs = createRowMacs(keys, system.randomBytes);
	const chain = openChain(db);
	const keeper = continueTip(db, chain, macs);
	db.exec("BEGIN IMMEDIATE");
	keeper.begin();
	db.exec(`INSERT INTO engine_former_realm (engine, realm_id) SELECT 'documentdb', id FROM realm;
		INSERT INTO engine_former_realm (engine, realm_id) SELECT 'containerorch', max(id) FROM realm`);
	chain.finish();
	keeper.seal();
	db.exec("COMMIT");
	db.close();
}
