import assert from "node:assert/strict";
import { after, test } from "node:test";
import { keySetOf } from "../../audit/key-parts.ts";
import type { AuditEvent } from "../../audit/model.ts";
import { anEvent } from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import type { OpenStore } from "./open-store.ts";

const DAY = (day: number) => `2031-05-${String(day).padStart(2, "0")}T00:00:00.000Z`;
const RANGE = { starts: [DAY(1), DAY(2), DAY(3)], end: DAY(4) };

/** Tests the port's promises about counting events by day. */
export async function auditDayContract(openStore: OpenStore): Promise<void> {
	const { store } = await openStore({ after });
	const { audit } = store;
	const owner = await addAccount(store);
	const realm = await addRealm(store, owner);
	const other = await addRealm(store, owner);

	const event = (timestamp: string, type: AuditEvent["type"], data = {}, { id, slug } = realm) =>
		anEvent({ timestamp, type, realm_id: id, realm: slug, data });
	const secret = (key: string, environment: string) => ({
		...{ member_id: owner.id, realm_id: realm.id, realm: realm.slug },
		...{ key, environment },
	});

	test("events and denials of a realm are counted by the day on which they happened", async () => {
		const last = "2031-04-30T23:59:59.999Z";
		await audit.append(event(last, "secret.set"));
		await audit.append(event(DAY(1), "secret.read"));
		await audit.append(event("2031-05-01T23:59:59.999Z", "access.denied"));
		await audit.append(event(DAY(2), "secret.read", {}, other));
		await audit.append(event(DAY(3), "access.denied"));
		await audit.append(event(DAY(3), "access.denied", {}, other));
		await audit.append(event(DAY(4), "secret.read"));
		assert.deepEqual(await audit.perDay(realm.id, RANGE), [
			{ events: 2, denials: 1 },
			{ events: 0, denials: 0 },
			{ events: 1, denials: 1 },
		]);
		assert.deepEqual(await audit.perDay(other.id, RANGE), [
			{ events: 0, denials: 0 },
			{ events: 1, denials: 0 },
			{ events: 1, denials: 1 },
		]);
		assert.deepEqual(await audit.perDay("none", { starts: [DAY(9)], end: DAY(10) }), [{ events: 0, denials: 0 }]);
	});

	const ON = (day: number) => `2031-06-${String(day).padStart(2, "0")}T12:00:00.000Z`;
	const JUNE = { starts: [ON(1), ON(2), ON(3)], end: ON(4) };

	test("reads of a secret are counted by day, with those of many that held it, and nothing else is", async () => {
		const set = keySetOf(["DB_URL", "OTHER"]);
		const read = (day: number, key = "DB_URL", environment = "prod", where = realm) =>
			audit.append(event(ON(day), "secret.read", { key, environment }, where));
		await read(1);
		await read(1, "OTHER");
		await read(1, "DB_URL", "dev");
		await read(1, "DB_URL", "prod", other);
		await audit.append(event(ON(2), "secret.set", { key: "DB_URL", environment: "prod" }));
		await audit.appendNaming(set, event(ON(2), "secret.sync", { environment: "prod", key_set: set.hash }));
		await audit.appendNaming(set, event(ON(2), "secret.list", { environment: "", key_set: set.hash }));
		await audit.appendNaming(set, event(ON(2), "secret.diff", { environment: "prod", key_set: set.hash }));
		await read(3);
		await read(3, "DB_URL", "prod", { ...realm, slug: "former" });
		await audit.append(event(ON(3), "realm.restored", { was: "former" }));
		const counted = async (environment: string, most = 1000) =>
			audit.readsPerDay(secret("DB_URL", environment), JUNE, most);
		assert.deepEqual(await counted("prod"), { reads: [1, 2, 2], isCut: false });
		assert.deepEqual(await counted("dev"), { reads: [1, 1, 0], isCut: false });
		assert.deepEqual(await audit.readsPerDay(secret("NONE", "prod"), JUNE, 1000), { reads: [0, 0, 0], isCut: false });
	});

	test("only the last days of a key with too many events are counted, each of them whole", async () => {
		const JULY = { starts: ["2031-07-01", "2031-07-02", "2031-07-03"], end: "2031-07-04" };
		const reads = Array.from({ length: 1500 }, () =>
			event("2031-07-02T00:00:00.000Z", "secret.read", { key: "HOT", environment: "prod" }),
		);
		await Promise.all(reads.map((one) => audit.append(one)));
		await audit.append(event("2031-07-03T00:00:00.000Z", "secret.read", { key: "HOT", environment: "prod" }));
		const counted = (most: number) => audit.readsPerDay(secret("HOT", "prod"), JULY, most);
		assert.deepEqual(await counted(10_000), { reads: [0, 1500, 1], isCut: false });
		assert.deepEqual(await counted(1000), { reads: [1], isCut: true });
		await audit.append(event("2031-07-03T00:00:00.000Z", "secret.read", { key: "HOT", environment: "prod" }));
		assert.deepEqual(await counted(10_000), { reads: [0, 1500, 2], isCut: false }, "with what came since");
	});
}
