import { count, text } from "../client/answer.ts";
import { type Client, path } from "../client/client.ts";
import { listAll } from "../client/pages.ts";
import { notFound } from "../command-line/not-found.ts";

/** One environment of a realm. */
export interface RealmEnvironment {
	readonly realm: string;
	readonly environment: string;
}

/** A secret for a program. */
export interface Secret {
	readonly key: string;
	readonly value: string;
}

/** Selection of secrets; all without either option. */
export interface SelectionOptions {
	readonly only?: readonly string[];
	readonly except?: readonly string[];
}

/** Every secret of an environment. @throws Failure as `listAll` does */
export async function readSecrets(client: Client, { realm, environment }: RealmEnvironment): Promise<Secret[]> {
	const found = listAll(client, path`realms/${realm}/secrets`, "secrets", { env: environment });
	return Array.fromAsync(found, (secret) => ({ key: text(secret, "key"), value: text(secret, "value") }));
}

/** A text that changes when a secret of the environment is written or deleted; it reads no value. @throws Failure as `listAll` does */
export async function readState(client: Client, { realm, environment }: RealmEnvironment): Promise<string> {
	const found = listAll(client, path`realms/${realm}/secrets`, "secrets", { env: environment, values: "false" });
	return JSON.stringify(await Array.fromAsync(found, (secret) => [text(secret, "key"), count(secret, "version")]));
}

/** Selects the wanted secrets. @throws Failure notFound naming the requested keys that do not exist */
export function selectSecrets(
	secrets: readonly Secret[],
	where: RealmEnvironment,
	{ only, except = [] }: SelectionOptions,
): Secret[] {
	const keys = new Set(secrets.map(({ key }) => key));
	const missing = [...(only ?? []), ...except].filter((key) => !keys.has(key));
	if (missing.length > 0) {
		throw notFound({
			noun: "secret",
			typed: missing,
			within: `${where.realm}/${where.environment}`,
			known: keys,
			hint: "`svc secret list` shows the keys",
		});
	}
	return secrets.filter(({ key }) => (only === undefined || only.includes(key)) && !except.includes(key));
}
