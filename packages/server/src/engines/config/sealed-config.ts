import { type Fields, isObject } from "@svc/protocol";
import type { Keyring } from "../../crypto/keyring.ts";
import { type EncryptionContext, openRecord, sealRecord } from "../../crypto/seal.ts";
import { AppError } from "../../errors.ts";
import type { System } from "../../system.ts";
import type { EngineConfigRow } from "../model.ts";

/** Dependencies of sealing. */
export interface SealNeeds {
	keyring: Pick<Keyring, "record" | "recordFor">;
	system: Pick<System, "randomBytes">;
}

/** Seals and opens the secrets of engines with the instance's own key, which outlives every realm. */
export interface ConfigSealer {
	seal(row: Omit<EngineConfigRow, "sealed">, fields: Fields): Promise<EngineConfigRow>;
	/** @throws AppError internal_error when the row was altered or moved */
	open(row: EngineConfigRow): Promise<Fields>;
	/** Seals the data needed to revoke a lease. */
	sealPayload(lease_id: string, payload: Fields): Promise<Buffer>;
	openPayload(lease_id: string, sealed: Buffer): Promise<Fields>;
}

/** Makes the sealer. Design: §5, §7 */
export function createConfigSealer(needs: SealNeeds): ConfigSealer {
	async function seal(context: EncryptionContext, fields: Fields): Promise<Buffer> {
		const key = await needs.keyring.record("");
		return sealRecord(key, context, Buffer.from(JSON.stringify(fields)), needs.system.randomBytes);
	}

	async function open(context: EncryptionContext, sealed: Buffer): Promise<Fields> {
		const key = await needs.keyring.recordFor("", sealed);
		const bytes = key && openRecord(key, context, sealed);
		const fields: unknown = bytes && JSON.parse(bytes.toString());
		if (isObject(fields)) return fields;
		throw new AppError(
			"internal_error",
			"an engine's record cannot be opened: the database was altered or damaged; `svc doctor --deep` names all that do not open; restore a backup",
		);
	}

	return {
		seal: async (row, fields) => ({ ...row, sealed: await seal(configContext(row), fields) }),
		open: (row) => open(configContext(row), row.sealed),
		sealPayload: (lease_id, payload) => seal(payloadContext(lease_id), payload),
		openPayload: (lease_id, sealed) => open(payloadContext(lease_id), sealed),
	};
}

function configContext(row: Omit<EngineConfigRow, "sealed">): EncryptionContext {
	return { label: "engine_config.sealed", realm_id: row.realm_id, environment: "", name: row.engine, row_id: row.id };
}

function payloadContext(lease_id: string): EncryptionContext {
	return { label: "lease.payload", realm_id: "", environment: "", name: "", row_id: lease_id };
}
