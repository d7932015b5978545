import type { Keyring } from "../crypto/keyring.ts";
import { type EncryptionContext, openRecord, sealRecord } from "../crypto/seal.ts";
import { FatalError } from "../errors.ts";
import type { CommonStore, CommonText } from "../nodes/model.ts";
import type { System } from "../system.ts";

/** Dependencies of texts that several servers have in common. */
interface CommonTextNeeds {
	store: { common: CommonStore };
	keyring: Pick<Keyring, "record" | "recordFor">;
	system: Pick<System, "randomBytes">;
}

/** Texts that several servers have in common. */
export interface CommonTexts {
	/** Offers a text. @returns the one that all servers use: the first that was offered */
	agree(name: CommonText, offered: string): Promise<string>;
	/** Removes a text. */
	drop(name: CommonText): Promise<void>;
}

/** sysexits EX_DATAERR. */
const DATA_DAMAGED = 65;

/** Makes the texts of a server, each sealed with the instance's own key. Design: §14 */
export function createCommonTexts({ store: { common }, keyring, system }: CommonTextNeeds): CommonTexts {
	const seal = async (name: CommonText, text: string) =>
		sealRecord(await keyring.record(""), contextOf(name), Buffer.from(text), system.randomBytes).toString("base64url");
	const open = async (name: CommonText, sealed: string) => {
		const box = Buffer.from(sealed, "base64url");
		const key = await keyring.recordFor("", box);
		const text = key && openRecord(key, contextOf(name), box)?.toString();
		if (text === undefined)
			throw new FatalError(
				`the ${name} that the servers have in common cannot be opened: restore the database from a backup`,
				DATA_DAMAGED,
			);
		return text;
	};
	return {
		async agree(name, offered) {
			const stored = await common.text(name);
			return open(name, stored ?? (await common.keep(name, await seal(name, offered))));
		},
		async drop(name) {
			if ((await common.text(name)) !== undefined) await common.drop(name);
		},
	};
}

function contextOf(name: CommonText): EncryptionContext {
	return { label: "common.sealed", realm_id: "", environment: "", name, row_id: "" };
}
