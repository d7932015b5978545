import type { Command } from "commander";
import { isLoopback, parseAddress } from "../client/address.ts";
import { text } from "../client/answer.ts";
import { type Client, path, send } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { addCommand, addGroup, type Context, option } from "../command-line/command.ts";
import { esoManifest, type Sync } from "../formats/eso-manifest.ts";
import { parseDuration } from "../input/duration.ts";
import { repeatable } from "../input/fields.ts";
import { checkNamespace } from "../input/kubernetes-name.ts";
import { type LeaseRequest, parseLease } from "../input/lease-request.ts";
import { type EnvironmentOptions, environmentOf, REALM_OPTION, realmOf } from "../input/realm-scope.ts";
import type { Io } from "../io/io.ts";
import { note, show, visible } from "../io/output.ts";
import { ensureMachine } from "./eso-machine.ts";

interface ManifestOptions extends EnvironmentOptions {
	readonly key?: readonly string[];
	readonly all?: boolean;
	readonly generator?: readonly string[];
	readonly namespace: string;
	readonly url?: string;
	readonly machine?: string;
	readonly expires: string;
	readonly scopes: string;
	readonly dryRun?: boolean;
}

/** Spec: API › Operator-sync endpoints. */
const USUAL_ENVIRONMENT = "prod";

/** Design: §15. */
const MAX_LIFE_MS = 90 * 24 * 60 * 60 * 1000;

const DETAILS = `The manifest has a Secret with a new token of a machine account, which svc creates if there is none: for that, you must be a signed-in admin of the realm. Until it expires, the token can read this environment of this realm and create the credentials of each --generator, and nothing else; it keeps working when you leave. A machine cannot use an engine's roles that are only for admins. The other objects tell the operator what to fetch: each --key; all keys, with --all or when you name nothing; for each --generator a credential of an engine, created again after half of its ttl.
The manifest includes the server's certificate if svc trusts it by --cacert or by its fingerprint. It contains the token: pipe it to kubectl, do not keep it.`;

/** Adds the commands for External Secrets Operator. */
export function addEsoCommands(program: Command, io: Io): void {
	const eso = addGroup(program, "eso", "External Secrets Operator, which copies secrets into a Kubernetes cluster");
	addCommand<ManifestOptions>(eso, io, {
		usage: "manifest",
		summary: "print the manifest with which a cluster reads secrets, with a new token of a machine",
		details: DETAILS,
		options: [
			REALM_OPTION,
			option("--env <name>", "dev, staging, prod or test (else SVC_ENV, else .svc.toml, else prod)"),
			repeatable("--key <key>", "this secret; may be given several times"),
			option("--all", "all secrets of the environment, as one Secret"),
			repeatable("--generator <engine:role>", "credentials of an engine, such as keyvalue:readonly,ttl=1h"),
			option("--namespace <name>", "namespace of the objects").default("default"),
			option("--url <url>", "address at which the cluster reaches the server (else the one that svc uses)"),
			option("--machine <name>", "the machine account; eso-<namespace>-<env> by default"),
			option("--expires <duration>", "when the token ends, at most 90d").default("90d"),
			option("--scopes <list>", "of the machine; some roles of engines need read,write").default("read"),
			option("--dry-run", "create no token: the manifest has svc_REPLACE_ME in its place"),
		],
		examples: [
			"svc eso manifest --realm shop --env prod --namespace apps | kubectl apply -f -",
			"svc eso manifest --realm shop --key DATABASE_URL --url https://secrets.example.com --expires 30d",
			"svc eso manifest --realm shop --generator keyvalue:readonly,ttl=1h --dry-run",
		],
		run: printManifest,
	});
}

async function printManifest(context: Context<ManifestOptions>): Promise<void> {
	const { options } = context;
	parseDuration("--expires", options.expires, MAX_LIFE_MS);
	const client = await connect(context);
	const sync = syncOf(context, client);
	// Checked before the token is made, so that an error leaves none behind.
	esoManifest(sync, "");
	const token = options.dryRun === true ? "svc_REPLACE_ME" : await makeToken(context, client, sync);
	const items = esoManifest(sync, token);
	const { stringify } = await import("yaml");
	const documents = items.map((item) => stringify(item, { lineWidth: 0 })).join("---\n");
	await show(context, { apiVersion: "v1", kind: "List", items }, documents.trimEnd());
	if (isLoopback(new URL(sync.address)))
		await note(context, `note: a cluster does not reach ${sync.address}: --url names the server as it does`);
}

function syncOf(context: Context<ManifestOptions>, client: Client): Sync {
	const { key: keys = [], generator = [], all, namespace, url } = context.options;
	return {
		address: url === undefined ? client.address : parseAddress(url),
		certificate: client.trust?.certificate,
		realm: realmOf(context),
		environment: environmentOf(context, USUAL_ENVIRONMENT),
		namespace: checkNamespace(namespace),
		keys,
		all: all === true || (keys.length === 0 && generator.length === 0),
		generators: generator.map((text) => parseLease(text, "--generator")),
	};
}

async function makeToken(context: Context<ManifestOptions>, client: Client, sync: Sync): Promise<string> {
	const { scopes, expires } = context.options;
	const { realm, environment, namespace, keys, all, generators } = sync;
	const name = context.options.machine ?? `eso-${namespace}-${environment}`;
	await ensureMachine(client, {
		realm,
		name,
		role: /\bwrite\b/.test(scopes) ? "member" : "viewer",
		scopes,
		environment: all || keys.length > 0 ? environment : undefined,
		engines: [...new Set(generators.map(roleOf))],
		description: `External Secrets Operator in ${namespace}`,
	});
	const tokens = path`realms/${realm}/machines/${name}/tokens`;
	const body = { name: `eso ${namespace}`, ttl: expires };
	const answer = await send(client, { method: "POST", path: tokens, body });
	const ending = `svc machine token revoke ${name} ${text(answer, "id")} --realm ${realm}`;
	const end = text(answer, "expires_at");
	await note(context, visible(`token of ${realm}/${name} ends at ${end}; \`${ending}\` ends it earlier`));
	return text(answer, "token");
}

/** The role as the restriction of a machine names it. */
function roleOf({ type, params: { role } }: LeaseRequest): string {
	return `${type}:${String(role)}`;
}
