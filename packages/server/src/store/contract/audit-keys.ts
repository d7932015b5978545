import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { EventQuery } from "../../audit/event-query.ts";
import { type KeySet, keySetOf } from "../../audit/key-parts.ts";
import type { AuditEvent } from "../../audit/model.ts";
import type { Realm } from "../../realms/model.ts";
import { unpack } from "../../secrets/snapshot.ts";
import { aDeletion, anEvent, aVersion, newId } from "../../testing/rows.ts";
import { addAccount, addBinding, addRealm } from "../../testing/rules.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about the sets of keys that events of bulk reads name. */
export async function auditKeyContract(openStore: OpenStore): Promise<void> {
	const { store } = await openStore({ after });
	const { audit, secrets } = store;

	const keys = (count: number) => Array.from({ length: count }, (_, at) => `KEY_${at}`);
	const asking = (given: Partial<EventQuery>): EventQuery => ({
		...{ scopes: [{}], realm: undefined, type: undefined, actors: undefined },
		...given,
	});
	const found = async (given: Partial<EventQuery>) =>
		(await audit.list(asking(given), undefined, 100)).map(({ data }) => JSON.parse(data).mark);

	/** Appends a marked event that names a set. */
	const name = (set: KeySet, mark: string | number, given: Partial<AuditEvent> = {}) =>
		audit.appendNaming(
			set,
			anEvent({ type: "secret.sync", realm: "r", ...given, data: { mark, key_set: set.hash, ...given.data } }),
		);

	/** Makes a key that no other test names. */
	let made = 0;
	const fresh = () => `ONLY_${++made}`;

	test("a set that an event names is found in its realm by its hash, and so are its parts", async () => {
		const realm_id = newId();
		const set = keySetOf(keys(1000));
		await name(set, 1, { realm_id });
		const parts = (await audit.keys(realm_id, set.hash))?.parts ?? [];
		assert.deepEqual(parts, set.parts.map(({ hash }) => hash).toSorted());
		const listed = await Promise.all(parts.map(async (part) => (await audit.keys(realm_id, part))?.keys ?? []));
		assert.deepEqual(new Set(listed.flat()), new Set(keys(1000)));
		assert.deepEqual(
			await Promise.all([
				audit.keys(newId(), set.hash),
				audit.keys(newId(), parts[0] ?? ""),
				audit.keys(realm_id, "none"),
			]),
			[undefined, undefined, undefined],
		);
	});

	test("parts that are stored already need no keys, and a set with a part that is not is refused with its event", async () => {
		const [one, two] = [keySetOf([fresh()]), keySetOf([fresh()])];
		const bare = (set: KeySet): KeySet => ({ ...set, parts: set.parts.map(({ hash }) => ({ hash, keys: undefined })) });
		await audit.keepParts(one.parts);
		const realm_id = newId();
		await name(bare(one), "stored", { realm_id });
		const { events } = await audit.head();
		await assert.rejects(name(bare(two), "not stored", { realm_id }));
		assert.equal((await audit.head()).events, events);
		assert.deepEqual(await found({ scopes: [{ realm_ids: [realm_id] }] }), ["stored"]);
	});

	test("a query by key finds the events that name it and those whose set holds it, in order", async () => {
		const [key, other] = [fresh(), fresh()];
		const [both, without] = [keySetOf([key, other]), keySetOf([other])];
		const at = (mark: number) => `2032-01-0${mark}T00:00:00.000Z`;
		const owner = await addAccount(store);
		const [one, two] = [await addRealm(store, owner), await addRealm(store, owner)];
		const inRealm = ({ id: realm_id, slug: realm }: Realm) => ({ realm_id, realm });
		const given = (mark: number, more: Partial<AuditEvent> = {}) => ({ ...inRealm(one), timestamp: at(mark), ...more });
		await audit.append(anEvent({ ...given(1), type: "secret.read", data: { mark: 1, key } }));
		await name(both, 2, given(2, { type: "secret.list", actor: "ada", data: { token_id: "T" } }));
		await name(without, 3, given(3));
		await audit.append(anEvent({ ...given(4), type: "secret.set", data: { mark: 4, key } }));
		await name(keySetOf([...keys(2000), key]), 5, given(5, { actor: "bob" }));
		await name(both, 6, given(6, inRealm(two)));
		const QUERIES: [given: Partial<EventQuery>, marks: number[]][] = [
			[{}, [6, 5, 4, 2, 1]],
			[{ realm: one.slug }, [5, 4, 2, 1]],
			[{ realm: one.slug, realm_id: one.id }, [5, 4, 2, 1]],
			[{ realm: two.slug }, [6]],
			[{ realm: "none" }, []],
			[{ type: "secret.set" }, [4]],
			[{ type: "secret.s*" }, []],
			[{ type: "secret.*" }, [6, 5, 4, 2, 1]],
			[{ type: "secret.sync" }, [6, 5]],
			[{ actors: ["ada", "bob"] }, [5, 2]],
			[{ token: "T" }, [2]],
			[{ token: "T", actors: ["bob"] }, []],
			[{ since: at(2), until: at(5) }, [4, 2]],
			[{ since: at(7) }, []],
		];
		const asMember = QUERIES.map(([filter, marks]): (typeof QUERIES)[0] => [
			{ scopes: [{ member_id: owner.id }], ...filter },
			marks,
		]);
		QUERIES.push([{ scopes: [{ realm_ids: [newId()] }] }, []], [{ scopes: [] }, []]);
		for (const [filter, marks] of [...QUERIES, ...asMember]) {
			assert.deepEqual(await found({ key, ...filter }), marks, JSON.stringify(filter));
			assert.equal(await audit.count(asking({ key, ...filter })), marks.length, JSON.stringify(filter));
		}
		const { position: last } = await audit.head();
		const exported = await audit.export(asking({ key }), { after: undefined, last }, 100);
		assert.deepEqual(
			exported.map(({ data }) => JSON.parse(data).mark),
			[1, 2, 4, 5, 6],
		);
	});

	test("pages of a key's events stay in sequence over many sets", async () => {
		const key = fresh();
		const sets = Array.from({ length: 7 }, () => keySetOf([key, fresh()]));
		const owner = await addAccount(store);
		const { id: realm_id, slug: realm } = await addRealm(store, owner);
		for (let mark = 0; mark < 60; mark++) await name(sets[(mark * 5) % 7] ?? assert.fail(), mark, { realm_id, realm });
		const everybody: EventQuery["scopes"][] = [[{}], [{ member_id: owner.id }]];
		for (const scopes of everybody) {
			const marks: number[] = [];
			for (let before: string | undefined; ; ) {
				const page = await audit.list(asking({ scopes, key }), before, 7);
				marks.push(...page.map(({ data }) => JSON.parse(data).mark));
				before = page.at(-1)?.position;
				if (page.length < 7) break;
			}
			assert.deepEqual(
				marks,
				Array.from({ length: 60 }, (_, at) => 59 - at),
			);
		}
	});

	test("a member finds a key's events in the realms of the member alone", async () => {
		const [owner, user] = [await addAccount(store), await addAccount(store)];
		const [own, bound, foreign] = [
			await addRealm(store, user),
			await addRealm(store, owner),
			await addRealm(store, owner),
		];
		await addBinding(store, bound, user, "viewer");
		const key = fresh();
		for (const [mark, { id: realm_id, slug }] of Object.entries({ own, bound, foreign })) {
			await name(keySetOf([key]), `${mark} set`, { realm_id, realm: slug });
			await audit.append(anEvent({ type: "secret.read", realm_id, realm: slug, data: { mark, key } }));
		}
		const scopes = [{ member_id: user.id }];
		assert.deepEqual(await found({ key, scopes }), ["bound", "bound set", "own", "own set"]);
		assert.deepEqual(await found({ key, scopes, realm: foreign.slug }), []);
		assert.deepEqual(await found({ key, scopes, realm: own.slug }), ["own", "own set"]);
		assert.deepEqual(await found({ key, scopes: [{ member_id: user.id, realm_ids: [own.id] }] }), ["own", "own set"]);
	});

	test("a key's events of a realm are found under each slug that it had, and not those of another realm that had one of these", async () => {
		const user = await addAccount(store);
		const [own, other] = [await addRealm(store, user), await addRealm(store, await addAccount(store))];
		const [key, former] = [fresh(), fresh()];
		const read = (mark: string, realm_id: string, realm: string) =>
			audit.append(anEvent({ type: "secret.read", realm_id, realm, data: { mark, key } }));
		await read("before", own.id, former);
		await name(keySetOf([key]), "set before", { realm_id: own.id, realm: former });
		await read("foreign", other.id, former);
		const facts = { realm_id: own.id, realm: own.slug, data: { was: former } };
		await audit.append(anEvent({ type: "realm.restored", ...facts }));
		await read("after", own.id, own.slug);
		const scopes = [{ member_id: user.id }];
		const all = ["after", "set before", "before"];
		for (const asked of [{ scopes }, { scopes, realm: own.slug, realm_id: own.id }]) {
			assert.deepEqual(await found({ key, ...asked }), all);
			assert.equal(await audit.count(asking({ key, ...asked })), 3);
		}
		assert.deepEqual(await found({ key, realm: own.slug, realm_id: own.id }), all);
		assert.deepEqual(await found({ key, scopes, realm: former }), ["set before", "before"]);
		assert.deepEqual(await found({ key, scopes, realm: own.slug }), ["after"]);
	});

	test("secrets are named by the keys of their numbers, without those of parts that are stored", async () => {
		const { id: realm } = await addRealm(store, await addAccount(store));
		const set = (key: string) => secrets.set(aVersion(realm, key), anEvent({ realm_id: realm }));
		const idsOf = async () =>
			Float64Array.from(unpack(await secrets.currentVersions(realm, "dev", "")), ({ secret_id }) => secret_id);
		const few = [fresh(), fresh()];
		for (const key of few) await set(key);
		const named = await secrets.keySet(await idsOf());
		assert.deepEqual(named, keySetOf(few));
		await name(named ?? assert.fail(), 1, { realm_id: realm });
		assert.deepEqual((await secrets.keySet(await idsOf()))?.parts, [{ hash: named.parts[0]?.hash, keys: undefined }]);
		await secrets.remove({ ...aDeletion(), realm_id: realm, environment: "dev", key: few[0] ?? "" }, anEvent());
		assert.equal((await secrets.keySet(await idsOf()))?.hash, keySetOf(few.slice(1)).hash);
		await Promise.all(keys(900).map(set));
		assert.deepEqual(await secrets.keySet(await idsOf()), keySetOf([...few.slice(1), ...keys(900)]));
		assert.equal(await secrets.keySet(Float64Array.of(1e9)), undefined);
	});

	test("the log is intact with the names of its bulk reads", async () => {
		assert.equal((await audit.verify([])).status, "intact");
	});
}
