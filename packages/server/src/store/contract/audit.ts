import assert from "node:assert/strict";
import { after, test } from "node:test";
import { eventHash } from "../../audit/chain.ts";
import type { EventQuery } from "../../audit/event-query.ts";
import type { AuditEvent, ListedEvent } from "../../audit/model.ts";
import { countEvents } from "../../testing/events.ts";
import { anEvent, MADE_AT, newId } from "../../testing/rows.ts";
import { addAccount, addBinding, addRealm } from "../../testing/rules.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about the audit log. */
export async function auditContract(openStore: OpenStore): Promise<void> {
	const { store } = await openStore({ after });
	const { audit } = store;

	const EVERYTHING: EventQuery = { scopes: [{}], realm: undefined, type: undefined, actors: undefined };
	const asking = (given: Partial<EventQuery>): EventQuery => ({ ...EVERYTHING, ...given });
	/** Query of what a test wrote itself. */
	const of = (realm_id: string, given: Partial<EventQuery> = {}) =>
		asking({ scopes: [{ realm_ids: [realm_id] }], ...given });
	const marksOf = (events: { data: string }[]) => events.map(({ data }) => JSON.parse(data).mark);

	/** Writes marked events in a realm that no other test uses, one after another. */
	async function write(count: number, given: (mark: number) => Partial<AuditEvent> = () => ({})): Promise<string> {
		const realm_id = newId();
		for (let mark = 1; mark <= count; mark++)
			await audit.append(anEvent({ realm_id, realm: "r", data: { mark }, ...given(mark) }));
		return realm_id;
	}

	test("an event is listed as written, and the head has moved before its caller gets the answer", async () => {
		const before = await audit.head();
		const actor = "a name\twith\nall \u2028 kinds \u{1f511} of \\ characters";
		const event = anEvent({
			actor,
			realm_id: newId(),
			realm: "r",
			data: { text: "é\t\n\"'\\", none: undefined, n: 1 },
		});
		await audit.append(event);
		const [found = assert.fail("no event")] = await audit.list(of(event.realm_id), undefined, 10);
		const { timestamp, type, realm_id, realm } = found;
		assert.deepEqual(
			{ timestamp, type, actor: found.actor, realm_id, realm, data: JSON.parse(found.data) },
			{
				...event,
				data: { text: "é\t\n\"'\\", n: 1 },
			},
		);
		const head = await audit.head();
		assert.equal(head.events, before.events + 1);
		assert.ok(!head.hash.equals(before.hash));
		assert.deepEqual([head.position, found.hash.length], [found.position, 32]);
	});

	test("the log has events that belong to a change and events recorded alone", async () => {
		const realm_id = await write(1);
		await audit.record(anEvent({ realm_id, data: { mark: 2 } }));
		assert.deepEqual(marksOf(await audit.list(of(realm_id), undefined, 10)), [2, 1]);
	});

	test("each of a thousand simultaneous events is in the log once, in order of arrival", async () => {
		const realm_id = newId();
		const marks = Array.from({ length: 1000 }, (_, mark) => mark);
		await Promise.all(marks.map((mark) => audit.append(anEvent({ realm_id, data: { mark } }))));
		assert.deepEqual(marksOf(await audit.list(of(realm_id), undefined, 2000)).toReversed(), marks);
		assert.equal((await audit.verify([])).status, "intact");
	});

	test("a list is newest first, and its pages stay in sequence while events arrive", async () => {
		const realm_id = await write(5);
		const pages: ListedEvent[][] = [];
		for (let before: string | undefined; pages.length < 3; before = pages.at(-1)?.at(-1)?.position) {
			pages.push(await audit.list(of(realm_id), before, 2));
			await audit.append(anEvent({ realm_id, data: { mark: 0 } }));
		}
		assert.deepEqual(pages.map(marksOf), [[5, 4], [3, 2], [1]]);
		assert.deepEqual(await audit.list(of(realm_id), pages.at(-1)?.at(-1)?.position, 2), []);
	});

	test("a member's scope has the live realms that the user owns or has a role in, as they are now", async () => {
		const [owner, user] = [await addAccount(store), await addAccount(store)];
		const [own, bound, foreign, gone] = [
			await addRealm(store, user),
			await addRealm(store, owner),
			await addRealm(store, owner),
			await addRealm(store, user),
		];
		await addBinding(store, bound, user, "viewer");
		for (const [mark, { id: realm_id }] of Object.entries({ own, bound, foreign, gone }))
			await audit.append(anEvent({ realm_id, type: "secret.read", data: { mark } }));
		await store.realms.remove({ id: gone.id, deleted_at: MADE_AT }, anEvent());
		const seen = async (scope: EventQuery["scopes"][number]) =>
			marksOf(await audit.list(asking({ scopes: [scope], type: "secret.read" }), undefined, 10));
		assert.deepEqual(await seen({ member_id: user.id }), ["bound", "own"]);
		assert.deepEqual(await seen({ member_id: user.id, realm_ids: [own.id, foreign.id] }), ["own"]);
		await store.policy.unbind({ realm_id: bound.id, user_id: user.id }, anEvent());
		assert.deepEqual(await seen({ member_id: user.id }), ["own"]);
		assert.deepEqual(await seen({ member_id: "" }), []);
	});

	test("a query by environment finds what names it, all environments, or it as the other one of two", async () => {
		const FACTS: object[] = [
			{ environment: "dev" },
			{ environment: "prod" },
			{ environment: "" },
			{ environment: "dev", to_environment: "prod" },
			{ environment: "staging", from_environment: "prod" },
			{},
			{ comment: '"to_environment":"prod"', environment: "dev" },
		];
		const realm_id = await write(FACTS.length, (mark) => ({ data: { mark, ...FACTS[mark - 1] } }));
		const query: EventQuery = { ...EVERYTHING, scopes: [{ realm_ids: [realm_id] }], environment: "prod" };
		const found = await audit.list(query, undefined, 100);
		assert.deepEqual(
			found.map(({ data }) => JSON.parse(data).mark),
			[5, 4, 3, 2],
		);
		assert.equal(await audit.count(query), 4);
	});

	test("a query finds what one of its scopes and all of its filters match, and a count counts it", async () => {
		const at = (mark: number) => `2030-01-0${mark}T00:00:00.000Z`;
		const realm_id = await write(6, (mark) => ({
			timestamp: at(mark),
			type: mark % 2 === 0 ? "secret.read" : "secret.set",
			actor: `actor ${mark % 3}`,
			realm: mark > 3 ? "late" : "early",
			data: { mark, key: `K${mark % 3}`, token_id: `T${mark % 2}` },
		}));
		const [other, outside] = [await write(1, () => ({ actor: "me" })), newId()];
		await audit.append(anEvent({ actor: outside, type: "auth.login", data: { mark: "outside" } }));
		const QUERIES: [given: Partial<EventQuery>, marks: unknown[]][] = [
			[{}, [6, 5, 4, 3, 2, 1]],
			[{ type: "secret.read" }, [6, 4, 2]],
			[{ type: "secret.*" }, [6, 5, 4, 3, 2, 1]],
			[{ type: "secret.r*" }, []],
			[{ key: "K1" }, [4, 1]],
			[{ key: "K1", realm: "late", since: at(2) }, [4]],
			[{ token: "T0" }, [6, 4, 2]],
			[{ token: "T0", until: at(4) }, [2]],
			[{ token: "T0", key: "K1" }, [4]],
			[{ key: "none" }, []],
			[{ realm: "late" }, [6, 5, 4]],
			[{ actors: ["actor 1", "nobody"] }, [4, 1]],
			[{ actors: [] }, []],
			[{ since: at(3) }, [6, 5, 4, 3]],
			[{ since: at(2), until: at(4) }, [3, 2]],
			[{ type: "secret.set", realm: "late", actors: ["actor 2"] }, [5]],
			[{ scopes: [] }, []],
			[{ scopes: [{ realm_ids: [] }] }, []],
			[{ scopes: [{ realm_ids: [realm_id, other] }], actors: ["me", "actor 0"] }, [1, 6, 3]],
			[
				{
					scopes: [
						{ realm_ids: [realm_id], type: "secret.set" },
						{ realm_ids: [other], actor: "nobody" },
					],
				},
				[5, 3, 1],
			],
			[{ scopes: [{ realm_ids: [""], actor: outside }] }, ["outside"]],
			[{ scopes: [{ type: "auth.login", actor: outside }, { realm_ids: [other] }] }, ["outside", 1]],
		];
		for (const [given, marks] of QUERIES) {
			const query = of(realm_id, given);
			assert.deepEqual(marksOf(await audit.list(query, undefined, 100)), marks, JSON.stringify(given));
			assert.equal(await audit.count(query), marks.length, JSON.stringify(given));
		}
		assert.equal(await audit.count(EVERYTHING), await countEvents(store));
	});

	test("events whose times are not in their order are found by their time", async () => {
		const at = (hour: number) => `2031-01-01T0${hour}:00:00.000Z`;
		const realm_id = await write(6, (mark) => ({ timestamp: at([5, 1, 6, 2, 3, 4][mark - 1] ?? 0) }));
		const found = async (given: Partial<EventQuery>) => marksOf(await audit.list(of(realm_id, given), undefined, 10));
		assert.deepEqual(await found({ since: at(4) }), [6, 3, 1]);
		assert.deepEqual(await found({ since: at(2), until: at(5) }), [6, 5, 4]);
		assert.deepEqual(await found({ since: at(7) }), []);
	});

	test("an export is oldest first, up to an event, and each event can be checked by its hash and the previous one", async () => {
		const realm_id = await write(5);
		const { position: last } = await audit.head();
		await audit.append(anEvent({ realm_id, data: { mark: "too late" } }));
		const first = await audit.export(of(realm_id), { after: undefined, last }, 3);
		const rest = await audit.export(of(realm_id), { after: first.at(-1)?.position, last }, 3);
		assert.deepEqual(
			[marksOf(first), marksOf(rest)],
			[
				[1, 2, 3],
				[4, 5],
			],
		);
		for (const event of [...first, ...rest]) assert.deepEqual(eventHash(event.previous_hash, event), event.hash);
		assert.deepEqual(await audit.export(of(realm_id), { after: rest.at(-1)?.position, last }, 3), []);
		const whole = await audit.export(EVERYTHING, { after: undefined, last }, 1);
		assert.deepEqual(whole[0]?.previous_hash, Buffer.alloc(32), "the first event of a chain follows none");
	});

	test("the log is intact at every state that it had, and at no other", async () => {
		const states = [];
		for (let count = 0; count < 3; count++) {
			await write(2);
			const { events: seq, hash } = await audit.head();
			states.push({ seq, hash });
		}
		const last = states.at(-1) ?? assert.fail();
		const report = await audit.verify(states);
		assert.deepEqual([report.status, report.events, report.seq], ["intact", last.seq, undefined]);
		assert.equal((await audit.verify([{ ...last, hash: Buffer.alloc(32) }])).status, "altered");
		assert.equal((await audit.verify([...states, { ...last, seq: last.seq + 1 }])).status, "truncated");
	});

	test("checkpoints are kept as signed, oldest first, each state once", async () => {
		const aCheckpoint = (seq: number, byte: number) => ({
			seq,
			timestamp: MADE_AT,
			hash: Buffer.alloc(32, byte),
			key_id: Buffer.alloc(8, byte),
			signature: Buffer.alloc(64, byte),
		});
		const [first, second] = [aCheckpoint(3, 1), aCheckpoint(7, 2)];
		for (const checkpoint of [second, first, aCheckpoint(7, 9)]) await audit.addCheckpoint(checkpoint);
		const all = await audit.checkpoints(Number.MIN_SAFE_INTEGER, 10);
		assert.deepEqual(all, [first, second]);
		assert.deepEqual([await audit.checkpoints(0, 1), await audit.checkpoints(3, 10)], [[first], [second]]);
		assert.deepEqual((await audit.latest()).checkpoint, second);
		assert.partialDeepStrictEqual(await audit.verify([]), { status: "altered", seq: first.seq });
	});

	test("the newest verification is found, and none before the first", async () => {
		assert.equal((await audit.latest()).verified, undefined);
		for (const last_seq of [1, 2]) await audit.append(anEvent({ type: "audit.verified", data: { last_seq } }));
		await audit.append(anEvent());
		assert.equal((await audit.latest()).verified?.data, '{"last_seq":2}');
	});

	test("a reopened store continues its log where it ended", async (t) => {
		const opened = await openStore(t);
		for (let count = 0; count < 3; count++) await opened.store.audit.append(anEvent());
		const head = await opened.store.audit.head();
		await opened.store.close();
		const { store: again } = await opened.reopen();
		assert.deepEqual(await again.audit.head(), head);
		await again.audit.append(anEvent());
		const anchors = [{ seq: head.events, hash: head.hash }];
		assert.deepEqual([(await again.audit.verify(anchors)).status, await countEvents(again)], ["intact", 4]);
	});

	test("a new store's log is empty, and intact", async (t) => {
		const { store: empty } = await openStore(t);
		assert.equal((await empty.audit.head()).events, 0);
		assert.deepEqual([await empty.audit.count(EVERYTHING), (await empty.audit.verify([])).status], [0, "intact"]);
		const { position: last } = await empty.audit.head();
		assert.deepEqual(await empty.audit.export(EVERYTHING, { after: undefined, last }, 10), []);
	});
}
