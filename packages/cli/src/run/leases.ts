import type { Answer } from "../client/answer.ts";
import type { Client } from "../client/client.ts";
import type { Context } from "../command-line/command.ts";
import { connectionVariables } from "../formats/connection-formats.ts";
import type { LeaseRequest } from "../input/lease-request.ts";
import { writeKubeconfig } from "./kubeconfig-file.ts";
import type { Ended } from "./program.ts";
import type { Variable } from "./variables.ts";
import { withCredential } from "./with-credential.ts";

/** A paragraph of the help. */
export const LEASE_HELP = `With --lease, an engine creates a credential for the program: keyvalue:readonly sets KEYVALUE_URL, KEYVALUE_HOST, KEYVALUE_PORT, KEYVALUE_USERNAME, KEYVALUE_PASSWORD and the like, documentdb:read,database=shop DOCUMENTDB_URI, containerorch:viewer KUBECONFIG; cache=keyvalue:readonly names them CACHE_URL and so on. svc revokes it when the program ends, however it ends. If svc itself is killed, the credential ends with its ttl, as in keyvalue:readonly,ttl=30m. It is not renewed, so choose a ttl that is long enough.`;

/**
 * Makes the credentials one by one, for as long as a program runs, and revokes them afterwards.
 * @param run runs the program with their variables
 * @throws Failure as `withCredential` does, and any error of `run`
 */
export async function withLeases(
	context: Context,
	client: Client,
	realm: string,
	[request, ...others]: readonly LeaseRequest[],
	run: (variables: readonly Variable[]) => Promise<Ended>,
): Promise<Ended> {
	if (request === undefined) return run([]);
	return withCredential(context, client, { realm, ...request }, async (made) => {
		await using file = request.type === "containerorch" ? await writeKubeconfig(context.io, made) : undefined;
		const variables = variablesOfLease(request, made, file?.path);
		// Awaited here, because the file lasts only as long as this function.
		return await withLeases(context, client, realm, others, (more) => run([...variables, ...more]));
	});
}

/** Fields of the built-in engines' answers that are not secret. All fields of other engines count as secret. */
const PUBLIC =
	/_(?:ADDRESS|HOST|PORT|TLS|DATABASE|AUTH_DATABASE|USERNAME|EXPIRES_AT|NAMESPACE|SERVICE_ACCOUNT|ROLE_BINDING|CLUSTER_ROLE|SERVER|CA_CERT|TLS_SERVER_NAME|INSECURE_SKIP_TLS_VERIFY)$/;

function variablesOfLease({ type, prefix }: LeaseRequest, made: Answer, kubeconfig: string | undefined): Variable[] {
	const source = `--lease ${type}`;
	const fields = connectionVariables(type, made, prefix).map(([name, value]) => {
		return { name, value, source, isPublic: PUBLIC.test(name) };
	});
	const name = prefix === type ? "KUBECONFIG" : `${prefix.toUpperCase()}_KUBECONFIG`;
	return kubeconfig === undefined ? fields : [...fields, { name, value: kubeconfig, source, isPublic: true }];
}
