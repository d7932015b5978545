import type { AuditEvent } from "../audit/model.ts";
import type { KeyRow, KeyStore } from "../crypto/keyring-model.ts";

/** A store of keys in memory, for tests: its rows are exposed so that a test can damage them. */
export interface MemoryKeyStore extends KeyStore {
	state: { fingerprint: string | undefined; rows: KeyRow[]; events: AuditEvent[] };
}

/** Makes an empty store of keys. */
export function createMemoryKeyStore(): MemoryKeyStore {
	const state: MemoryKeyStore["state"] = { fingerprint: undefined, rows: [], events: [] };
	return {
		state,
		fingerprint: async () => state.fingerprint,
		shared: async () => state.rows.filter((row) => row.realm_id === ""),
		ofRealm: async (realm_id) => state.rows.filter((row) => row.realm_id === realm_id),
		byId: async (id) => state.rows.find((row) => row.id.equals(id)),
		all: async () => [...state.rows],
		async initialize({ fingerprint, keys }, event) {
			if (state.fingerprint !== undefined || state.rows.length > 0) return "exists";
			state.fingerprint = fingerprint;
			state.rows.push(...keys);
			state.events.push(event);
			return "done";
		},
		async rotate({ key }, event) {
			state.rows = state.rows.map((row) => {
				const isReplaced = row.purpose === key.purpose && row.realm_id === key.realm_id;
				return isReplaced ? { ...row, state: "retired" } : row;
			});
			state.rows.push(key);
			state.events.push(event);
			return "done";
		},
		renewRows: async () => "",
		async destroyRowKey(id, event) {
			state.rows = state.rows.filter((row) => !row.id.equals(id));
			state.events.push(event);
			return "done";
		},
		async rewrap({ from, to, keys }, event) {
			const wrapped = new Map(keys.map((key) => [key.id.toString("hex"), key.wrapped]));
			const rows = state.rows.flatMap((row) => {
				const found = wrapped.get(row.id.toString("hex"));
				return found === undefined ? [] : [{ ...row, wrapped: found }];
			});
			const isSame = rows.length === state.rows.length && wrapped.size === rows.length;
			if (state.fingerprint !== from || !isSame) return "changed";
			state.fingerprint = to;
			state.rows = rows;
			state.events.push(event);
			return "done";
		},
	};
}
