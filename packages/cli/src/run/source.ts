import { hash } from "node:crypto";
import type { Client } from "../client/client.ts";
import { connect, findTarget, notLoggedIn } from "../client/connection.ts";
import { type Credential, findCredential } from "../client/credential.ts";
import { spell } from "../client/machine/machine-tokens.ts";
import { type Context, option } from "../command-line/command.ts";
import { Failure } from "../failure.ts";
import { parseDuration } from "../input/duration.ts";
import { describeDuration } from "../io/duration.ts";
import { note } from "../io/output.ts";
import { withProgress } from "../io/progress.ts";
import { cacheSecrets, type Owner, readCachedSecrets } from "./offline-cache.ts";
import { type RealmEnvironment, readSecrets, type Secret } from "./secrets.ts";

/** Options for the source of secrets. */
export interface SourceOptions {
	readonly offline?: boolean;
	readonly maxAge: string;
	/** False with --no-cache. */
	readonly cache: boolean;
}

/** The options of `SourceOptions`. */
export const SOURCE_OPTIONS = [
	option("--offline", "use the secrets as last read here, without asking the server"),
	option("--max-age <duration>", "with --offline: how old they may be").default("24h"),
	option("--no-cache", "do not keep the secrets for --offline"),
];

/** A paragraph of the help. */
export const SOURCE_HELP =
	"svc keeps the secrets that it reads, sealed, for --offline, which says how old they are. Only --offline uses them.";

/**
 * The secrets of an environment, from the server or, with --offline, as they were kept.
 * @throws Failure as `connect`, `readSecrets` and `readCachedSecrets` do
 */
export async function loadSecrets(
	context: Context<SourceOptions>,
	where: RealmEnvironment,
): Promise<readonly Secret[]> {
	const owner = await ownerOf(context, where);
	const max_age_ms = parseDuration("--max-age", context.options.maxAge);
	if (context.options.offline !== true) {
		try {
			const client = await connect(context);
			const secrets = await withProgress(context, "reading secrets", () => readSecrets(client, owner));
			return await keep(context, owner, secrets);
		} catch (error) {
			throw await suggestOffline(context, owner, max_age_ms, error);
		}
	}
	const { secrets, age_ms } = await readCachedSecrets(context.io, owner, max_age_ms);
	await note(
		context,
		`offline: the secrets of ${where.realm}/${where.environment} as they were ${describeDuration(age_ms)} ago`,
	);
	return secrets;
}

/**
 * Reads the secrets from the server and keeps them for `--offline`. It shows no progress: a program may have the terminal.
 * @throws Failure as `readSecrets` does
 */
export async function readAndCache(
	context: Context<SourceOptions>,
	client: Client,
	owner: Owner,
): Promise<readonly Secret[]> {
	return keep(context, owner, await readSecrets(client, owner));
}

async function keep(
	context: Context<SourceOptions>,
	owner: Owner,
	secrets: readonly Secret[],
): Promise<readonly Secret[]> {
	if (context.options.cache) {
		await cacheSecrets(context.io, owner, secrets).catch(async (error: Error) => {
			await note(context, `note: nothing is kept for --offline: ${error.message}; --no-cache does without`);
		});
	}
	return secrets;
}

/** The caller: the machine, the user of the session, or the digest of a token. It asks nobody. @throws Failure denied when there is no token for the address */
export async function ownerOf(context: Context, where: RealmEnvironment): Promise<Owner> {
	const { address, saved } = await findTarget(context);
	const credential = await findCredential(context.io, saved);
	if (credential === undefined) throw notLoggedIn(address);
	return { ...where, address, identity: identityOf(credential) };
}

function identityOf(credential: Credential): string {
	if (credential.kind === "machine") return `machine:${spell(credential.machine)}`;
	const user = credential.kind === "session" ? credential.user : undefined;
	return user ?? hash("sha256", credential.token, "hex");
}

/** Suggests --offline where it would help. */
async function suggestOffline(context: Context, owner: Owner, max_age_ms: number, error: unknown): Promise<unknown> {
	if (!(error instanceof Failure) || error.kind !== "unreachable") return error;
	const kept = await readCachedSecrets(context.io, owner, max_age_ms).catch(() => undefined);
	if (kept === undefined) return error;
	const { message, code, status } = error;
	const hint = `--offline takes the secrets as they were ${describeDuration(kept.age_ms)} ago`;
	return new Failure("unreachable", message, { code, status, hint, cause: error });
}
