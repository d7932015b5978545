/**
 * Golden ciphertexts: sealed by a release and kept forever with its keys, to prove that later releases open them. Design: §5.
 * For a new release, from packages/server/src: node testing/golden.ts VERSION > crypto/vectors/golden-VERSION.json
 */
import type { AuditEvent } from "../audit/model.ts";
import { makeToken } from "../crypto/api-token.ts";
import { openKeyring } from "../crypto/keyring.ts";
import type { KeyRow } from "../crypto/keyring-model.ts";
import { hashPassword } from "../crypto/password.ts";
import { rotateDataKey } from "../crypto/rotation.ts";
import { type EncryptionContext, sealPortable, sealRecord } from "../crypto/seal.ts";
import { createSessionTokens, SESSION_SECONDS } from "../crypto/session.ts";
import { system } from "../system.ts";
import { createMemoryKeyStore, type MemoryKeyStore } from "./memory-key-store.ts";

/** The realm of every golden record. */
const GOLDEN_REALM = "01980000-0000-7000-8000-000000000001";

/** A file of golden ciphertexts. Byte strings are hexadecimal. */
export interface Golden {
	release: string;
	master: string;
	fingerprint: string;
	keyring: {
		id: string;
		purpose: KeyRow["purpose"];
		realm_id: string;
		state: KeyRow["state"];
		wrapped: string;
		created_at: string;
	}[];
	records: { context: EncryptionContext; plaintext: string; box: string }[];
	/** Boxes that must not open in their context. */
	broken_records: { what: string; context: EncryptionContext; box: string }[];
	portable: { plaintext: string; text: string }[];
	/** Texts that must not pass as ours. */
	broken_portable: { what: string; text: string }[];
	checkpoints: { key_id: string; message: string; signature: string }[];
	session: { token: string; sub: string; jti: string; iat: number; exp: number };
	api_token: { token: string; prefix: string; digest: string };
	password: { password: string; hash: string };
}

const PLAINTEXTS = ["a secret", "", "line one\nline two\0 ключ 🔑", "x".repeat(300)];
const PASSWORD = "correct horse battery ﬁlé";

/** Seals one of everything, before and after one rotation of each key. */
export async function makeGolden(release: string): Promise<Golden> {
	const keys = createMemoryKeyStore();
	const master = system.randomBytes(32);
	const keyring = await openKeyring({ keys, master, system });
	await keyring.withNewKey("record", GOLDEN_REALM, async (row) => void keys.state.rows.push(row));
	const golden: Pick<Golden, "records" | "portable" | "checkpoints"> = { records: [], portable: [], checkpoints: [] };
	for (const round of ["first", "second"]) {
		for (const [index, plaintext] of PLAINTEXTS.entries()) {
			const context = { ...recordContext(round), row_id: `${round}-${index}` };
			const box = sealRecord(
				await keyring.record(context.realm_id),
				context,
				Buffer.from(plaintext),
				system.randomBytes,
			);
			golden.records.push({ context, plaintext, box: box.toString("hex") });
			golden.portable.push({ plaintext, text: sealPortable(keyring.portable(), plaintext, system.randomBytes) });
		}
		const signer = keyring.checkpoint().active;
		const signature = signer.sign(Buffer.from("checkpoint")).toString("hex");
		golden.checkpoints.push({ key_id: signer.id.toString("hex"), message: "checkpoint", signature });
		if (round === "first") await rotateEverything(keys, keyring);
	}
	const token = makeToken(system.randomBytes);
	const iat = Math.floor(system.now().getTime() / 1000);
	const claims = { sub: "user", jti: "session", iat, exp: iat + SESSION_SECONDS };
	return {
		release,
		master: master.toString("hex"),
		fingerprint: keyring.fingerprint,
		keyring: keys.state.rows.map((row) => ({
			...row,
			id: row.id.toString("hex"),
			wrapped: row.wrapped.toString("hex"),
		})),
		...golden,
		...breakEach(golden),
		session: { token: await createSessionTokens(() => keyring.session(), system).sign(claims), ...claims },
		api_token: { ...token, digest: token.digest.toString("hex") },
		password: { password: PASSWORD, hash: await hashPassword(PASSWORD) },
	};
}

function recordContext(round: string): EncryptionContext {
	return {
		label: "secret_version.value",
		realm_id: round === "first" ? GOLDEN_REALM : "",
		environment: "prod",
		name: "DB/URL",
		row_id: "",
	};
}

async function rotateEverything(
	keys: MemoryKeyStore,
	keyring: Parameters<typeof rotateDataKey>[0]["keyring"],
): Promise<void> {
	const event: AuditEvent = { timestamp: "", type: "key.rotated", actor: "", realm_id: "", realm: "", data: {} };
	await rotateDataKey({ keys, keyring }, "record", GOLDEN_REALM, event);
	for (const purpose of ["record", "portable", "session", "cursor", "checkpoint"] as const) {
		await rotateDataKey({ keys, keyring }, purpose, "", event);
	}
}

function breakEach({
	records,
	portable,
}: Pick<Golden, "records" | "portable">): Pick<Golden, "broken_records" | "broken_portable"> {
	const broken_records: Golden["broken_records"] = [];
	for (const { context, box } of records) {
		broken_records.push({ what: "another row", context: { ...context, row_id: "other" }, box });
		broken_records.push({ what: "another environment", context: { ...context, environment: "dev" }, box });
		broken_records.push({ what: "cut short", context, box: box.slice(0, -2) });
		broken_records.push({ what: "another suite", context, box: `02${box.slice(2)}` });
		broken_records.push({
			what: "last byte changed",
			context,
			box: box.slice(0, -2) + (box.endsWith("00") ? "01" : "00"),
		});
	}
	const broken_portable: Golden["broken_portable"] = [];
	for (const { text } of portable) {
		broken_portable.push({ what: "cut short", text: text.slice(0, -4) });
		broken_portable.push({ what: "padded", text: `${text}=` });
		broken_portable.push({ what: "another version", text: text.replace("svc:v1:", "svc:v2:") });
		broken_portable.push({
			what: "first byte of the nonce changed",
			text: text.slice(0, 19) + (text[19] === "A" ? "B" : "A") + text.slice(20),
		});
	}
	return { broken_records, broken_portable };
}

if (import.meta.main)
	process.stdout.write(`${JSON.stringify(await makeGolden(process.argv[2] ?? "unreleased"), undefined, "\t")}\n`);
