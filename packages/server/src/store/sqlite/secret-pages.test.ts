import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../../errors.ts";
import { anEvent, aVersion } from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import { openTestStore } from "../../testing/store.ts";
import { currentVersions } from "./current-versions.ts";
import { openReader, openWriter } from "./open.ts";
import { guardReads } from "./row-guard.ts";
import { secretPages } from "./secret-pages.ts";

const DEV = 30;
const PROD = ["first", "second"];

/** A realm whose two secrets of prod lie behind all of dev. */
async function setUp(t: Parameters<typeof openTestStore>[0]) {
	const { store, file } = await openTestStore(t);
	const { id } = await addRealm(store, await addAccount(store));
	const set = (key: string, environment: "dev" | "prod") =>
		store.secrets.set(aVersion(id, key, { environment }), anEvent());
	for (let count = 0; count < DEV; count++) await set(`KEY_${count}`, "dev");
	for (const key of PROD) await set(key, "prod");
	const alter = (sql: string) => {
		const otherWriter = openWriter(file);
		otherWriter.exec(sql);
		otherWriter.close();
	};
	return { store, file, id, alter };
}

test("a page whose secrets lie far apart is verified by the reading thread, one of neighbours here", async (t) => {
	const { file, id, store } = await setUp(t);
	const db = openReader(file);
	t.after(() => db.close());
	const { isNear } = secretPages(db);
	assert.equal(isNear(id, "prod", "", 2), false);
	assert.equal(isNear(id, "dev", "", 5), true);
	assert.equal(isNear(id, undefined, "", 2), true);
	assert.equal(isNear(id, "prod", "", 10), true, "ten allow for all rows");
	const [last] = (await store.secrets.list(id, "dev", "", DEV)).slice(-1);
	assert.equal(isNear(id, "prod", last?.position ?? "", 2), true);
});

test("a large page of all environments is verified by the reading thread if it has more than 400 rows", async (t) => {
	const { file, id, store, alter } = await setUp(t);
	const db = openReader(file);
	t.after(() => db.close());
	const { isNear } = secretPages(db);
	const before = DEV + PROD.length;
	const add = (count: number) =>
		Promise.all(
			Array.from({ length: count }, (_, at) =>
				store.secrets.set(aVersion(id, `MORE_${count}_${at}`, { environment: "test" }), anEvent()),
			),
		);
	await add(400 - before);
	assert.equal(isNear(id, undefined, "", 1001), true);
	await add(1);
	assert.deepEqual([isNear(id, undefined, "", 1001), isNear(id, undefined, "", 101)], [false, true]);
	const far = await store.secrets.list(id, undefined, "", 1001);
	assert.equal(far.length, 401);
	assert.deepEqual(far.slice(0, 101), await store.secrets.list(id, undefined, "", 101));
	alter("UPDATE secret SET key = 'other' WHERE key = 'second'");
	await assert.rejects(
		async () => store.secrets.list(id, undefined, "", 1001),
		(error) => error instanceof AppError && error.code === "row_altered",
		"also a row that it has verified before",
	);
});

test("both threads answer a page alike, and refuse one with an altered secret between", async (t) => {
	const { store, id, alter } = await setUp(t);
	const { secrets } = store;
	const far = await secrets.list(id, "prod", "", 2);
	assert.deepEqual(
		far.map(({ key }) => key),
		PROD,
	);
	assert.deepEqual(far, await secrets.list(id, "prod", "", 100));
	assert.deepEqual(await secrets.list(id, "prod", far[0]?.position ?? "", 2), far.slice(1));
	alter("UPDATE secret SET environment = 'dev' WHERE key = 'second'");
	await assert.rejects(
		async () => secrets.list(id, "prod", "", 2),
		(error) => error instanceof AppError && error.code === "row_altered",
	);
});

test("whether an environment has few secrets is known without verifying one", async (t) => {
	const { file, id } = await setUp(t);
	const db = openReader(file);
	t.after(() => db.close());
	let checked = 0;
	const check = () => {
		checked++;
		return true;
	};
	guardReads(db, { fits: check, usual: () => Buffer.alloc(0), names: "" });
	const { few } = currentVersions(db);
	assert.equal(few(id, "dev", "2026", DEV - 1), undefined);
	assert.equal(checked, 0);
	assert.equal(few(id, "dev", "2026", DEV)?.length, 3 * DEV);
	assert.notEqual(checked, 0);
});
