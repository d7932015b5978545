import { hash, timingSafeEqual } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../config.ts";
import { writeDurably } from "../durable-file.ts";
import type { System } from "../system.ts";
import type { AccountStore } from "./model.ts";

/** Name of the code's file in the data directory. */
export const SETUP_CODE_FILE = "setup-code";

const CODE_BYTES = 24;
const CODE = /^[\w-]{32}$/;

/** What shows that whoever registers the first account, and so becomes instance admin, is the one who installed the server. */
export interface SetupCode {
	/** Where it can be read; undefined when nothing asks for it. */
	file: string | undefined;
	/** Whether it is the code; anything is, when nothing asks for it. */
	admits(given: string): boolean;
	/** Forgets it: the first account is there. */
	end(): void;
}

/**
 * Reads the setup code of a server without accounts, or makes it. Where everybody may register there is none.
 * @throws the system's error when its file cannot be written
 * Design: §6
 */
export async function openSetupCode(needs: {
	config: Pick<Config, "data_dir" | "registration">;
	store: { accounts: Pick<AccountStore, "any"> };
	system: Pick<System, "randomBytes">;
}): Promise<SetupCode> {
	const file = join(needs.config.data_dir, SETUP_CODE_FILE);
	const end = () => rmSync(file, { force: true });
	if (needs.config.registration.mode === "open" || (await needs.store.accounts.any())) {
		end();
		return { file: undefined, admits: () => true, end };
	}
	const code = readCode(file) ?? makeCode(file, needs.system);
	return { file, admits: (given) => timingSafeEqual(digest(given.trim()), digest(code)), end };
}

/** One that was cut off while it was written counts as none. */
function readCode(file: string): string | undefined {
	try {
		const code = readFileSync(file, "utf8").trim();
		return CODE.test(code) ? code : undefined;
	} catch {
		return undefined;
	}
}

function makeCode(file: string, system: Pick<System, "randomBytes">): string {
	const code = system.randomBytes(CODE_BYTES).toString("base64url");
	writeDurably(file, `${code}\n`);
	return code;
}

function digest(text: string): Buffer {
	return hash("sha256", text, "buffer");
}
