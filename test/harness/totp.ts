import { createHmac } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import type { Api } from "./client.ts";
import { ok } from "./expect.ts";
import type { Person } from "./fixtures.ts";

const PERIOD_MS = 30_000;
const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

const lastSteps = new Map<string, number>();

const presentStep = () => Math.floor(Date.now() / PERIOD_MS);

/** Makes the code of a secret this many steps from now, as an authenticator app does: RFC 6238 by node:crypto alone. */
export function codeAt(secret: string, steps: number): string {
	const bits = [...secret].map((letter) => BASE32.indexOf(letter).toString(2).padStart(5, "0")).join("");
	const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
	const counter = Buffer.alloc(8);
	counter.writeBigUInt64BE(BigInt(presentStep() + steps));
	const mac = createHmac("sha1", key).update(counter).digest();
	const at = (mac.at(-1) ?? 0) % 16;
	return String((mac.readUInt32BE(at) % 2 ** 31) % 1_000_000).padStart(6, "0");
}

/** Makes a code that the server accepts and has not seen: that of now, then that of the next step; a third one waits for its time. */
export async function nextCode(secret: string): Promise<string> {
	const step = Math.max((lastSteps.get(secret) ?? 0) + 1, presentStep());
	while (step > presentStep() + 1) await wait(200);
	lastSteps.set(secret, step);
	return codeAt(secret, step - presentStep());
}

/** Gives somebody without a second factor an authenticator app. @returns its id and secret, and the recovery codes */
export async function addFactor(
	client: Api,
	{ token, password }: Person,
): Promise<{ id: string; secret: string; recovery_codes: string[] }> {
	const body = { type: "totp", current_password: password };
	const { id, secret } = ok(await client.post<{ id: string; secret: string }>("/auth/factors", body, { token }), 201);
	const code = { code: await nextCode(secret) };
	const { recovery_codes } = ok(
		await client.post<{ recovery_codes: string[] }>(`/auth/factors/${id}/confirm`, code, { token }),
	);
	return { id, secret, recovery_codes };
}
