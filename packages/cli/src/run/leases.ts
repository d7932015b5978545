import type { Answer } from "../client/answer.ts";
import type { Client } from "../client/client.ts";
import type { Context } from "../command-line/command.ts";
import { Failure } from "../failure.ts";
import { connectionVariables } from "../formats/connection-formats.ts";
import { parseParam } from "../input/fields.ts";
import { writeKubeconfig } from "./kubeconfig-file.ts";
import type { Ended } from "./program.ts";
import type { Variable } from "./variables.ts";
import { withCredential } from "./with-credential.ts";

/** A credential wanted for a program. */
export interface LeaseWish {
	/** Prefix of its variables' names. */
	readonly prefix: string;
	/** Type of the engine. */
	readonly type: string;
	/** Role, ttl and further parameters for the engine. */
	readonly params: Readonly<Record<string, unknown>>;
}

/** A paragraph of the help. */
export const LEASE_HELP = `--lease has an engine make a credential for the program: keyvalue:readonly sets KEYVALUE_URL, KEYVALUE_HOST, KEYVALUE_PORT, KEYVALUE_USERNAME, KEYVALUE_PASSWORD and the like, documentdb:read,database=shop DOCUMENTDB_URI, containerorch:viewer KUBECONFIG; cache=keyvalue:readonly names them CACHE_URL and so on. It is revoked when the program ends, whatever way. When svc itself is killed, it ends with its ttl, as in keyvalue:readonly,ttl=30m; it is not renewed, so the ttl has to be long enough.`;

/**
 * Reads `[name=]engine:role[,param=value…]`.
 * @param option that it was given to
 * @throws Failure usage when it is something else; the message repeats none of it
 */
export function parseLease(text: string, option = "--lease"): LeaseWish {
	const [head = "", ...params] = text.split(",");
	const [, name, type, role] = /^(?:([A-Za-z_]\w*)=)?([a-z][a-z0-9_-]*):([\w.-]+)$/.exec(head) ?? [];
	const pairs = params.map((param) => /^([^=]+)=(.*)$/s.exec(param));
	if (type === undefined || role === undefined || pairs.includes(null)) {
		throw new Failure(
			"usage",
			`${option} takes engine:role, as in keyvalue:readonly,ttl=30m or cache=keyvalue:readonly`,
			{
				hint: "`svc engine list` shows the engines",
			},
		);
	}
	const told = pairs.map((pair) => [pair?.[1] ?? "", parseParam(pair?.[2] ?? "")] as const);
	return { prefix: name ?? type, type, params: { ...Object.fromEntries(told), role } };
}

/**
 * Makes the credentials one by one, for as long as a program runs, and revokes them afterwards.
 * @param run runs the program with their variables
 * @throws Failure as `withCredential` does, and any error of `run`
 */
export async function withLeases(
	context: Context,
	client: Client,
	realm: string,
	[wish, ...others]: readonly LeaseWish[],
	run: (variables: readonly Variable[]) => Promise<Ended>,
): Promise<Ended> {
	if (wish === undefined) return run([]);
	return withCredential(context, client, { realm, ...wish }, async (made) => {
		await using file = wish.type === "containerorch" ? await writeKubeconfig(context.io, made) : undefined;
		const variables = variablesOfLease(wish, made, file?.path);
		// Awaited here, because the file lasts only as long as this function.
		return await withLeases(context, client, realm, others, (more) => run([...variables, ...more]));
	});
}

/** Fields of the built-in engines' answers that are not secret. All fields of other engines count as secret. */
const PUBLIC =
	/_(?:ADDRESS|HOST|PORT|TLS|DATABASE|AUTH_DATABASE|USERNAME|EXPIRES_AT|NAMESPACE|SERVICE_ACCOUNT|ROLE_BINDING|CLUSTER_ROLE|SERVER|CA_CERT|TLS_SERVER_NAME|INSECURE_SKIP_TLS_VERIFY)$/;

function variablesOfLease({ type, prefix }: LeaseWish, made: Answer, kubeconfig: string | undefined): Variable[] {
	const source = `--lease ${type}`;
	const fields = connectionVariables(type, made, prefix).map(([name, value]) => {
		return { name, value, source, isPublic: PUBLIC.test(name) };
	});
	const name = prefix === type ? "KUBECONFIG" : `${prefix.toUpperCase()}_KUBECONFIG`;
	return kubeconfig === undefined ? fields : [...fields, { name, value: kubeconfig, source, isPublic: true }];
}
