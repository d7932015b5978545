import type { Descriptor, Fields } from "@svc/protocol";
import type { IssueRequest, RevokeRequest, RevokeTarget } from "./connector.ts";
import type { ConnectNeeds } from "./kind.ts";

/*
 * The firewall between engines and the systems that the core drives. The core never sends what an engine returned: it builds the only
 * command that can be right, compares it with the engine's, and sends its own.
 */

/** Spec: ENGINES › Limits. */
const MANAGED_NAME = /^svc_[0-9a-f]{8}$/;
const PASSWORD = /^[0-9a-f]{24}$/;

/** Milliseconds by which an engine's clock and arithmetic may differ from ours. */
const TOLERANCE_MS = 5000;

/** A forbidden request of an engine. The message says what was wrong, without quoting the engine. */
export class ForbiddenCommand extends Error {
	override readonly name = "ForbiddenCommand";
}

/** A role of the engine's descriptor, with its meaning at the target. */
export type CommandRole = Descriptor["default_roles"][number];

/** A user to make. */
interface User {
	username: string;
	password: string;
}

/** Tells whether a name is managed: engines may give it, and the core may delete it. Spec: ENGINES › Authentication */
export function isManagedName(name: string): boolean {
	return MANAGED_NAME.test(name);
}

/** Reads the user in an engine's answer. @throws ForbiddenCommand when name or password is not of the managed shape */
export function readUser(data: Fields): User {
	const username = ownField(data, "username");
	const password = ownField(data, "password");
	if (typeof username !== "string" || !isManagedName(username)) {
		throw new ForbiddenCommand("username is not svc_ and 8 lowercase hex characters");
	}
	if (typeof password !== "string" || !PASSWORD.test(password)) {
		throw new ForbiddenCommand("password is not 24 lowercase hex characters");
	}
	return { username, password };
}

/** Reads a field that is not inherited. */
export function ownField(fields: Fields, name: string): unknown {
	return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

/**
 * Asks an engine that only returns commands for its target to invent a user.
 * @param field with the command; left out of `data`
 * @param read checks and reads the command
 * @throws ForbiddenCommand, TargetError, EngineUnavailable
 */
export async function askForUser<Command extends User>(
	{ descriptor, ask, system }: ConnectNeeds,
	{ params, role, ttl_ms, ...member }: IssueRequest,
	field: string,
	read: (data: Fields, role: CommandRole) => Command,
): Promise<{ command: Command; data: Fields; expires_at: string }> {
	const answer = await ask("generate", params, member);
	const known = descriptor.default_roles.find(({ name }) => name === role);
	if (known === undefined)
		throw new ForbiddenCommand("the engine made a credential for a role that it does not declare");
	const command = read(answer, known);
	const { [field]: _, ...data } = answer;
	const { expires_at } = data;
	const end_ms = typeof expires_at === "string" ? Date.parse(expires_at) : Number.NaN;
	if (!(Math.abs(end_ms - (system.now().getTime() + ttl_ms)) <= TOLERANCE_MS))
		throw new ForbiddenCommand("expires_at is not now plus the ttl");
	return { command, data, expires_at: String(expires_at) };
}

/**
 * Asks such an engine which user a member wants to revoke: its refusals are the answer.
 * @param field with the command; left out of the answer
 * @param check checks that the command removes that user
 * @throws ForbiddenCommand, TargetError, EngineUnavailable
 */
export async function askForRevoke(
	{ ask }: ConnectNeeds,
	{ params, ...member }: RevokeRequest,
	field: string,
	check: (data: Fields, username: string) => void,
): Promise<RevokeTarget> {
	const data = await ask("validate", params, member);
	const name = String(params.username);
	check(data, name);
	const { [field]: _, ...answer } = data;
	return { name, answer };
}
