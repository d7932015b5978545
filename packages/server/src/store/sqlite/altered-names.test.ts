import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { AppError } from "../../errors.ts";
import { aMachine, aNewRealm, anAccount, anEvent, aRealm, MADE_AT } from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import { openTestStore } from "../../testing/store.ts";
import { openWriter } from "./open.ts";

const { store, file } = await openTestStore({ after });
const owner = await addAccount(store);
const eve = await addAccount(store);

/** Writes into the file as another program does. */
async function alter(sql: string): Promise<void> {
	const aside = openWriter(file);
	aside.exec(sql);
	aside.close();
	await nextTurn();
}

const refusesAltered = (error: unknown) => error instanceof AppError && error.code === "row_altered";

test("the e-mail address of an altered account stays taken", async () => {
	const { id, email } = await addAccount(store);
	await alter(`UPDATE account SET instance_admin = 1 WHERE id = '${id}'`);
	assert.equal((await store.accounts.register(anAccount({ email }), anEvent())).outcome, "email_taken");
});

test("the slug of an altered realm stays taken", async () => {
	const { id, slug } = await addRealm(store, owner);
	await alter(`UPDATE realm SET user_id = '${eve.id}' WHERE id = '${id}'`);
	const another = aNewRealm(aRealm(owner.id, { slug }));
	await assert.rejects(async () => store.realms.create(another, anEvent()), refusesAltered);
});

test("the slug of a realm that another program marked as deleted stays taken, and nobody is informed that there is none", async () => {
	const { id, slug } = await addRealm(store, owner);
	const deleted = await addRealm(store, owner);
	assert.equal(await store.realms.remove({ id: deleted.id, deleted_at: MADE_AT }, anEvent()), true);
	await alter(`UPDATE realm SET deleted_at = '${MADE_AT}' WHERE id = '${id}'`);
	await assert.rejects(async () => store.realms.access(slug, owner.id), refusesAltered);
	await assert.rejects(
		async () => store.realms.create(aNewRealm(aRealm(owner.id, { slug })), anEvent()),
		refusesAltered,
	);
	const back = { id: deleted.id, slug, user_id: owner.id, since: "" };
	await assert.rejects(async () => store.realms.restore(back, anEvent()), refusesAltered);
	assert.equal(await store.realms.access(deleted.slug, owner.id), undefined, "one that its owner deleted");
	assert.equal(await store.realms.restore({ ...back, slug: deleted.slug }, anEvent()), "done");
});

test("the name of an altered machine stays taken", async () => {
	const realm = await addRealm(store, owner);
	const machine = aMachine(realm.id);
	await store.machines.set(machine, anEvent());
	await alter(`UPDATE machine SET role = 'admin' WHERE id = '${machine.id}'`);
	const another = aMachine(realm.id, { name: machine.name });
	await assert.rejects(async () => store.machines.set(another, anEvent()), refusesAltered);
});
