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

/** Proof that the person registering the first account, who becomes instance admin, installed the server. */
export interface SetupCode {
	/** File that contains it; undefined when no code is needed. */
	file: string | undefined;
	/** Tells whether it is the code; accepts anything when no code is needed. */
	admits(given: string): boolean;
	/** Forgets it, since the first account exists. */
	end(): void;
}

/**
 * Reads the setup code of a server without accounts, or makes it. There is none where everybody may register.
 * @throws the system's error when its file cannot be written
 * Design: §6
 */
export async function openSetupCode(needs: {
	config: Pick<Config, "data_dir" | "registration">;
	store: { accounts: Pick<AccountStore, "hadAny"> };
	system: Pick<System, "randomBytes">;
}): Promise<SetupCode> {
	const file = join(needs.config.data_dir, SETUP_CODE_FILE);
	const end = () => rmSync(file, { force: true });
	if (needs.config.registration.mode === "open" || (await needs.store.accounts.hadAny())) {
		end();
		return { file: undefined, admits: () => true, end };
	}
	const code = readCode(file) ?? makeCode(file, needs.system);
	return { file, admits: (given) => timingSafeEqual(digest(given.trim()), digest(code)), end };
}

/** Reads the code; one whose writing was interrupted counts as none. */
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
