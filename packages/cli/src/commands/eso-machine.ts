import { type Answer, text } from "../client/answer.ts";
import { type Client, path, send } from "../client/client.ts";
import { findAt } from "../client/find.ts";
import { Failure } from "../failure.ts";

/** A machine as a manifest needs it. */
export interface Wanted {
	/** Slug. */
	readonly realm: string;
	readonly name: string;
	readonly role: string;
	readonly scopes: string;
	/** Absent when no secret is read. */
	readonly environment: string | undefined;
	/** Roles of engines, as `type:role`. */
	readonly engines: readonly string[];
	readonly description: string;
}

/**
 * Makes the machine, unless it already exists with these limits.
 * @throws Failure failed when it exists with other limits: programs that use it would lose or gain access
 */
export async function ensureMachine(client: Client, wanted: Wanted): Promise<void> {
	const { realm, name, role, scopes, environment, engines, description } = wanted;
	const at = path`realms/${realm}/machines/${name}`;
	const found = await findAt(client, at);
	if (found === undefined) {
		const limits = {
			...(environment === undefined ? {} : { environment }),
			...(engines.length === 0 ? {} : { engines }),
		};
		await send(client, { method: "PUT", path: at, body: { role, scopes, ...limits, description } });
	} else if (!isAlike(found, wanted)) {
		throw new Failure("failed", `${realm} has a machine ${name} with another role or limits: nothing was made`, {
			hint: `--machine names another; \`${changeOf(wanted)}\` changes it for all its tokens`,
		});
	}
}

function isAlike(found: Answer, { role, scopes, environment, engines }: Wanted): boolean {
	const known = Array.isArray(found.engines) ? found.engines.map(String) : [];
	return (
		text(found, "role") === role &&
		isSame(text(found, "scopes").split(","), scopes.split(",")) &&
		(found.environment ?? undefined) === environment &&
		isSame(known, engines)
	);
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
	const [one, other] = [some, others].map((words) => new Set(words.map((word) => word.trim())));
	return one?.symmetricDifference(other ?? new Set()).size === 0;
}

/** The command that gives a machine these limits. */
function changeOf({ realm, name, role, scopes, environment, engines }: Wanted): string {
	const limits = [
		...(environment === undefined ? [] : [`--env ${environment}`]),
		...engines.map((engine) => `--engine ${engine}`),
	];
	const words = ["svc machine create", name, `--realm ${realm} --role ${role} --scopes ${scopes}`, ...limits];
	return [...words, "--change"].join(" ");
}
