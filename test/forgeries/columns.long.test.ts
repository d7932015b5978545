import assert from "node:assert/strict";
import { test } from "node:test";
import { columnsOf, coveredColumns, ROW_KINDS, type RowTable } from "../../packages/server/src/store/row-kinds.ts";
import { expectNoticed } from "./expected.ts";
import { changed, moved, swapped, withEffect } from "./rows.ts";
import { options, useForgedWorld } from "./shared.ts";

const world = useForgedWorld();

/** Covered columns in which all rows of the world have the same value: an exchange changes nothing. */
const SAME_IN_ALL: Partial<Record<RowTable, string>> = {
	reset_code: "created_by",
	recovery_codes: "user_id digests created_at",
	api_token: "engines maker_id",
	realm: "deleted_at",
	machine: "engines created_by",
	trust: "type issuer trust_domain audience single_use jwks ca_cert keys_host created_by",
	trust_used: "realm_id until",
	engine_config: "id engine realm_id state ordinal",
	sso_provider: "type",
	sso_identity: "is_vouched made_account",
	keyring: "state",
	secret_version: "pre_encrypted expires_at",
	deleted_version: "pre_encrypted expires_at",
	lease: "engine target scope realm_id config_id config_realm_id role user_id fence",
};

const TABLES = Object.keys(ROW_KINDS) as RowTable[];

/** Lists the covered columns of each table in which a forgery changes nothing. */
function withoutEffect(forgery: typeof changed): Partial<Record<RowTable, string>> {
	const found = TABLES.map((table) => {
		const columns = coveredColumns(table).filter(
			(column) => withEffect(world(), table, [forgery(table, column)]).length === 0,
		);
		return [table, columns.join(" ")] as const;
	});
	return Object.fromEntries(found.filter(([, columns]) => columns !== ""));
}

test("each covered column is changed in a row of the world, and exchanged where it has two values", options, () => {
	assert.deepEqual([withoutEffect(changed), withoutEffect(swapped)], [{}, SAME_IN_ALL]);
});

for (const table of TABLES) {
	const columns = columnsOf(table);

	test(`each column of ${table} that is changed gives no access, hides nothing and is noticed`, options, () =>
		expectNoticed(world(), [
			...withEffect(
				world(),
				table,
				coveredColumns(table).map((column) => changed(table, column)),
			),
			...Object.keys(ROW_KINDS[table].free).map((column) => changed(table, column)),
		]),
	);

	test(`each column of ${table} that is exchanged or moved between realms, too`, options, () => {
		const exchanged = columns.map((column) => swapped(table, column));
		const forgeries = columns.includes("realm_id") ? [...exchanged, moved(table)] : exchanged;
		return expectNoticed(world(), withEffect(world(), table, forgeries));
	});
}
