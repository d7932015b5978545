import type { Adoptable } from "@svc/server/offline";

/** Maximum number of strange events shown: an altered database that served may have made many. */
const MAX_STRANGE = 20;

/**
 * Describes a database that may be adopted, a line for each row that would be believed: what does not fit first, then all that grants something, by name.
 * The names are as they are in the database, and any program may have written them.
 */
export function* describeAdoptable({ rows, misfits, log, differences, strange }: Adoptable): Generator<string> {
	for (const misfit of misfits) yield `not as the server left it: ${misfit}`;
	if (log.status !== "intact") yield `the audit log is ${log.status} from event ${log.seq} on`;
	for (const { kind, id, name, problem, seq } of differences) {
		const row = `${kind} ${id}${name === undefined ? "" : ` (${name})`}`;
		yield `not as the audit log says: ${row} is ${problem}${seq === undefined ? "" : `, against event ${seq}`}`;
	}
	for (const { seq, type, kind, id } of strange.slice(0, MAX_STRANGE))
		yield `strange in the audit log: event ${seq}, ${type}, is of ${kind} ${id}, which did not exist`;
	yield* describeRows(rows);
}

function* describeRows(rows: Adoptable["rows"]): Generator<string> {
	const { accounts, admins, realms, bindings, tokens, configs, providers, identities } = rows;
	const { machines, machine_tokens, trusts, invitations } = rows;
	const counts = [
		`${accounts.total} accounts, ${accounts.disabled} of them disabled`,
		`${realms.length} realms, ${bindings.length} roles, ${tokens.length} API tokens`,
		`${configs.length} configurations of engines, ${providers.length} identity providers, ${identities.length} linked identities`,
		`${machines.length} machines, ${machine_tokens.length} tokens of machines, ${trusts.length} trusts, ${invitations.length} invitations`,
	];
	yield `would be believed: ${counts.join(", ")}`;
	for (const { email, name } of admins) yield `instance admin ${email}${name === email ? "" : ` (${name})`}`;
	for (const { realm, owner } of realms) yield `realm ${realm} of ${owner}`;
	for (const { role, email, realm } of bindings) yield `role ${role} of ${email} in realm ${realm}`;
	for (const token of tokens) yield describeToken(token);
	for (const { engine, realm } of configs)
		yield `configuration of ${engine} for ${realm === "" ? "all realms" : `realm ${realm}`}`;
	for (const { name, type } of providers) yield `identity provider ${name} (${type})`;
	for (const { provider, subject, email } of identities)
		yield `identity ${subject} of ${provider} signs in as ${email}`;
	yield* describeMachines(rows);
}

function* describeMachines({ machines, machine_tokens, trusts, invitations }: Adoptable["rows"]): Generator<string> {
	for (const { machine, role, scopes, environment, engines, created_by } of machines) {
		const limits = [`scopes ${scopes}`, ...reachOf(environment, engines)];
		yield `machine ${machine} of ${created_by}: ${role}, ${limits.join(", ")}`;
	}
	for (const { name, prefix, machine, created_by, expires_at } of machine_tokens)
		yield `token ${name || prefix} of machine ${machine}, made by ${created_by}, until ${expires_at}`;
	for (const { name, machine, issuer, claims, created_by } of trusts)
		yield `trust ${name} of machine ${machine}, made by ${created_by}: ${issuer} with ${claims}`;
	for (const { email, created_by, expires_at, roles } of invitations)
		yield `invitation of ${email} by ${created_by}: ${roles} roles, until ${expires_at}`;
}

function reachOf(environment: string | null, engines: string | null): string[] {
	return [
		environment === null ? "all environments" : `environment ${environment}`,
		...(engines === null ? [] : [`engines ${engines}`]),
	];
}

function describeToken(token: Adoptable["rows"]["tokens"][number]): string {
	const { name, owner, scopes, realm, environment, engines, expires_at } = token;
	const limits = [
		`scopes ${scopes}`,
		realm === null ? "all realms" : `realm ${realm}`,
		...reachOf(environment, engines),
		expires_at === null ? "without an end" : `until ${expires_at}`,
	];
	return `API token ${name} of ${owner}: ${limits.join(", ")}`;
}
