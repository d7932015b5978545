import { constants } from "node:os";
import type { Answer } from "../client/answer.ts";
import { type Client, path, send, sendForReply } from "../client/client.ts";
import type { Context } from "../command-line/command.ts";
import { Failure } from "../failure.ts";
import type { Io } from "../io/io.ts";
import { note, visible } from "../io/output.ts";
import { withProgress } from "../io/progress.ts";
import type { Ended } from "./program.ts";

/** A credential to request from an engine. */
interface CredentialRequest {
	/** Slug. */
	readonly realm: string;
	/** Type of the engine. */
	readonly type: string;
	/** Role, ttl and further parameters for the engine. */
	readonly params: object;
}

/**
 * Makes a credential for as long as a program runs. Afterwards revokes its lease in any case; if that fails, it ends with its ttl.
 * @param client as `connectForEngine` makes it
 * @param run runs the program with the answer of `generate`, `connection` included
 * @returns the program's end; its code is 128 plus the number of a signal that came before the program was started
 * @throws Failure as `send` does, and any error of `run`
 */
export async function withCredential(
	context: Context,
	client: Client,
	{ realm, type, params }: CredentialRequest,
	run: (made: Answer) => Promise<Ended>,
): Promise<Ended> {
	using interrupted = deferEndingSignals(context.io);
	const generate = path`realms/${realm}/engines/${type}/generate`;
	const call = { method: "POST", path: generate, body: params, query: { connection: "true" } } as const;
	const { answer, headers } = await withProgress(context, "asking the engine", () => sendForReply(client, call));
	try {
		const { code } = interrupted;
		return code === undefined ? await run(answer) : { code, written: Promise.resolve() };
	} finally {
		// An engine whose values need no revocation, such as pki, names no lease.
		const lease = headers["x-lease-id"];
		if (lease !== undefined) await revoke(context, client, { realm, type, made: answer, id: String(lease) });
	}
}

const ENDING = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Keeps signals from ending this process, which must first revoke a credential that nobody holds any more. */
function deferEndingSignals(io: Io): Disposable & { readonly code: number | undefined } {
	let first: NodeJS.Signals | undefined;
	const listener = (signal: NodeJS.Signals) => {
		first ??= signal;
	};
	for (const signal of ENDING) io.on(signal, listener);
	return {
		get code() {
			return first === undefined ? undefined : 128 + constants.signals[first];
		},
		[Symbol.dispose]: () => {
			for (const signal of ENDING) io.off(signal, listener);
		},
	};
}

/** Milliseconds for a revocation: the server has it on disk long before, and continues when nobody waits. */
const REVOKE_TIMEOUT_MS = 15_000;

/** A credential that an engine made. */
interface Credential extends Pick<CredentialRequest, "realm" | "type"> {
	/** Answer of `generate`. */
	readonly made: Answer;
	/** Id of its lease. */
	readonly id: string;
}

/** Fields by which an engine recognizes its credential. Spec: ENGINES › Endpoints */
const NAMING_FIELDS = ["username", "service_account", "namespace"];

async function revoke(context: Context, client: Client, { realm, type, made, id }: Credential): Promise<void> {
	const patient = { ...client, timeoutMs: REVOKE_TIMEOUT_MS };
	try {
		await send(patient, { method: "DELETE", path: path`realms/${realm}/leases/${id}` }).catch(async (error) => {
			if (!(error instanceof Failure && error.code === "insufficient_scope")) throw error;
			// A token for roles of engines reaches no lease, but may take back what it made.
			const body = Object.fromEntries(Object.entries(made).filter(([name]) => NAMING_FIELDS.includes(name)));
			await send(patient, { method: "POST", path: path`realms/${realm}/engines/${type}/validate`, body });
		});
	} catch (error) {
		if (!(error instanceof Failure)) throw error;
		const next = `\`svc lease revoke ${id} --realm ${realm}\` does it, else it ends with its ttl`;
		await note(context, visible(`the credential is not revoked: ${error.message}; ${next}`));
	}
}
