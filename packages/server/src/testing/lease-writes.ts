import type { allWrites } from "../store/sqlite/writes/all.ts";
import { aConfig, aLease, anEvent, MADE_AT } from "./rows.ts";

/** Runs every change of leases and engines' configurations once. */
export function runEveryLeaseWrite(
	{ engines: configs, leases: ledger, revocations }: ReturnType<typeof allWrites>,
	realm_id: string,
): void {
	const [event, config] = [anEvent(), aConfig({ realm_id })];
	configs.setConfig(config, event);
	const [lease, next] = [aLease(realm_id, { config_id: config.id, config_realm_id: realm_id }), aLease(realm_id)];
	const { id } = lease;
	const selections = [undefined, realm_id].map((realm) => ({ realm_id: realm, user_id: "u", engine: "e", now_ms: 1 }));
	ledger.begin(lease, 1, event);
	ledger.doubt({ id, due_at: 1, last_error: "" });
	ledger.recover({ due_at: 1, last_error: "cut off" });
	ledger.hasten({ target: lease.target, now_ms: 0, until_ms: 2, but_for: "" });
	ledger.postpone({ id, due_at: 1, attempts: 1, last_error: "" });
	ledger.settle({ id, closed_at: MADE_AT }, event);
	ledger.reopen({ id, due_at: 1 }, event);
	ledger.delivered({ ids: [id], at: MADE_AT });
	configs.removeConfig(config, event);
	ledger.abandon({ id, closed_at: MADE_AT }, event);
	ledger.begin(next, 1, event);
	ledger.activate({ ...next, due_at: 1, payload: null }, event);
	ledger.markLost({ id: next.id, last_error: "lost" }, event);
	for (const selection of selections) ledger.revokeMany(selection, event);
	for (const whose of [
		{ realm_id, user_id: "u" },
		{ realm_id, user_id: undefined },
		{ realm_id: undefined, user_id: "u" },
	])
		revocations.revoke({ ...whose, keep: "", links_since: "", now_ms: 1 }, event);
	for (const due of [{}, { due_at: 1 }]) ledger.revoke({ id: next.id, reason: "expired", ...due }, event);
	ledger.abort({ id: next.id, closed_at: MADE_AT }, event);
	ledger.saveClock({ lease_ms: 1, uptime_ms: 1, boot_id: "" });
	ledger.forget("9999");
	configs.keepGenerated(aConfig({ state: "generated" }), event);
}
