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

/** The code that several servers have in common. */
interface CommonCode {
	/** Offers a code. @returns the one that all use */
	agree(name: "setup_code", offered: string): Promise<string>;
	drop(name: "setup_code"): Promise<void>;
}

/** Proof that the person registering the first account, who becomes instance admin, installed the server. */
export interface SetupCode {
	/** File that contains it; undefined when no code is needed. */
	file: string | undefined;
	/** Tells whether it is the code; accepts anything when no code is needed. */
	admits(given: string): boolean;
	/** Forgets it, since the first account exists. */
	end(): Promise<void>;
}

/**
 * Reads the setup code of a server without accounts, or makes it. There is none where everybody may register.
 * @param needs.common undefined where no other server uses the store; else all have the same code, and each shows it in its file
 * @throws the system's error when its file cannot be written
 * Design: §6
 */
export async function openSetupCode(needs: {
	config: Pick<Config, "data_dir" | "registration">;
	store: { accounts: Pick<AccountStore, "hadAny"> };
	common: CommonCode | undefined;
	system: Pick<System, "randomBytes">;
}): Promise<SetupCode> {
	const file = join(needs.config.data_dir, SETUP_CODE_FILE);
	const { common } = needs;
	const end = async () => {
		rmSync(file, { force: true });
		// A file that stays opens nothing any more.
		await common?.drop("setup_code").catch(() => undefined);
	};
	if (needs.config.registration.mode === "open" || (await needs.store.accounts.hadAny())) {
		await end();
		return { file: undefined, admits: () => true, end };
	}
	const found = readCode(file);
	const own = found ?? needs.system.randomBytes(CODE_BYTES).toString("base64url");
	const code = (await common?.agree("setup_code", own)) ?? own;
	if (code !== found) writeDurably(file, `${code}\n`);
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

function digest(text: string): Buffer {
	return hash("sha256", text, "buffer");
}
