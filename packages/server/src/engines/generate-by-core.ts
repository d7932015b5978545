import type { Fields } from "@svc/protocol";
import { AppError } from "../errors.ts";
import { ask, type EngineNeeds, fail } from "./engines.ts";
import { type Command, ForbiddenCommand, readDocCreate, readKvCreate } from "./kinds/commands.ts";
import { type Connector, TargetError } from "./kinds/connector.ts";
import {
	type Generated,
	MAX_NAMES,
	markAborted,
	markActive,
	markUncertain,
	recordIntent,
	type Wanted,
} from "./ledger.ts";

/**
 * Makes a credential of an engine that only says what is to be run: the core checks the command, writes the credential down, and runs it
 * with its own connection. Spec: ENGINES › keyvalue operations, documentdb operations. Design: §9
 */
export async function generateByCore(needs: EngineNeeds, wanted: Wanted, connector: Connector): Promise<Generated> {
	const { caller, actor } = wanted;
	for (let attempt = 0; attempt < MAX_NAMES; attempt++) {
		const data = await ask(needs, actor, caller, "generate", wanted.params);
		const made = await makeOne(needs, wanted, connector, data).catch((error) =>
			fail(needs, actor, caller, "generate", error),
		);
		if (made !== undefined) return made;
	}
	throw new AppError("engine_unavailable", "the engine came up with names that are taken: try again");
}

/** @returns undefined when the name is taken */
async function makeOne(
	needs: EngineNeeds,
	wanted: Wanted,
	connector: Connector,
	data: Fields,
): Promise<Generated | undefined> {
	const command = readCommand(wanted, data);
	const expires_at = readEnd(needs, wanted, data);
	const { username: name } = command;
	if (await connector.exists({ name, scope: wanted.scope })) return undefined;
	const channel = await connector.openChannel();
	try {
		const lease_id = await recordIntent(needs, wanted, name, channel.fence);
		if (lease_id === undefined) return undefined;
		await channel.create(command).catch((error) => giveUp(needs, wanted, lease_id, error));
		channel.release();
		const due_at = needs.clock.now() + wanted.ttl_ms;
		await markActive(needs, wanted, { lease_id, name, expires_at, due_at, payload: null });
		const made = { ...withoutCommand(data), ...connector.details(detailsOf(wanted, command)) };
		return { data: wanted.with_connection ? { ...made, connection: connector.connection() } : made, lease_id };
	} finally {
		channel.release();
	}
}

function readCommand({ caller, role, params }: Wanted, data: Fields): Command {
	const { type, descriptor } = caller.engine.entry;
	const known = descriptor.default_roles.find(({ name }) => name === role);
	if (known === undefined)
		throw new ForbiddenCommand("the engine made a credential of a role that it does not declare");
	return type === "keyvalue" ? readKvCreate(data, known) : readDocCreate(data, known, String(params.database));
}

/** Milliseconds by which an engine's clock and arithmetic may differ from ours. */
const TOLERANCE_MS = 5000;

function readEnd(needs: EngineNeeds, { ttl_ms }: Wanted, { expires_at }: Fields): string {
	const end_ms = typeof expires_at === "string" ? Date.parse(expires_at) : Number.NaN;
	const wanted_ms = needs.system.now().getTime() + ttl_ms;
	if (Math.abs(end_ms - wanted_ms) <= TOLERANCE_MS) return String(expires_at);
	throw new ForbiddenCommand("expires_at is not now plus the ttl");
}

/** An answer that says no proves that nothing was made; anything else proves nothing. */
async function giveUp(needs: EngineNeeds, wanted: Wanted, lease_id: string, error: unknown): Promise<never> {
	const isSure = error instanceof TargetError && error.kind !== "unreachable";
	if (isSure) await markAborted(needs, wanted, lease_id);
	else await markUncertain(needs, lease_id, error instanceof Error ? error.message : "the create did not end");
	throw error;
}

function withoutCommand({ kv_command: _, doc_command: __, ...data }: Fields): Fields {
	return data;
}

function detailsOf({ params }: Wanted, { username, password }: Command) {
	return { username, password, ...(typeof params.database === "string" ? { database: params.database } : {}) };
}
