import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { columnsOf, coveredColumns, ROW_KINDS, type RowTable } from "../../packages/server/src/store/row-kinds.ts";
import { skipWithoutRedis } from "../peers/redis.ts";
import { expectNoticed } from "./expected.ts";
import { changed, moved, swapped, withEffect } from "./rows.ts";
import { createForgedWorld, type ForgedWorld } from "./world.ts";

const options = { skip: skipWithoutRedis };
const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
let world: ForgedWorld;
before(async () => {
	if (skipWithoutRedis !== false) return;
	world = await createForgedWorld();
	ends.defer(world.close);
});

/** Covered columns in which all rows of the world have the same value: no exchange changes anything. */
const SAME_IN_ALL: readonly string[] = [];

const TABLES = Object.keys(ROW_KINDS) as RowTable[];

test("the world has rows of every kind, and almost every covered column has two values to exchange", options, () => {
	const without = (forgery: typeof changed) =>
		TABLES.flatMap((table) =>
			coveredColumns(table)
				.filter((column) => withEffect(world, table, [forgery(table, column)]).length === 0)
				.map((column) => `${table}.${column}`),
		);
	assert.deepEqual([without(changed), without(swapped)], [[], SAME_IN_ALL]);
});

for (const table of TABLES) {
	const columns = columnsOf(table);

	test(`each column of ${table} that is changed gives no access, hides nothing and is noticed`, options, () =>
		expectNoticed(world, [
			...withEffect(
				world,
				table,
				coveredColumns(table).map((column) => changed(table, column)),
			),
			...Object.keys(ROW_KINDS[table].free).map((column) => changed(table, column)),
		]),
	);

	test(`each column of ${table} that is exchanged or moved between realms, too`, options, () => {
		const exchanged = columns.map((column) => swapped(table, column));
		const forgeries = columns.includes("realm_id") ? [...exchanged, moved(table)] : exchanged;
		return expectNoticed(world, withEffect(world, table, forgeries));
	});
}
