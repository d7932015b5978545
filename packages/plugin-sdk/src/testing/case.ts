import type { Descriptor, EngineResponse, Fields } from "@svc/protocol";
import type { Conversation } from "./conversation.ts";
import { Finding } from "./finding.ts";

/** A test of an engine. Each case has its own process. */
export interface Case {
	/** A sentence about the engine's behaviour. */
	name: string;
	/** @throws Finding when it does not */
	run(engine: Conversation, descriptor: Descriptor): Promise<void>;
}

/** The response's data. @throws Finding with the remedy when it is an error */
export function expectData(response: EngineResponse, what: string, remedy: string): Fields {
	if ("data" in response) return response.data;
	throw new Finding(`${what} is answered with an error`, remedy);
}

/** @throws Finding with the remedy when the response is data */
export function expectError(response: EngineResponse, what: string, remedy: string): void {
	if ("data" in response) throw new Finding(`${what} is answered with data`, remedy);
}

/** Sends a request that every engine can answer, to check that it still works. @throws Finding */
export async function expectLife(engine: Conversation, after: string): Promise<Fields> {
	return expectData(
		await engine.ask("describe"),
		`describe, after ${after},`,
		"keep nothing of a request that was refused: the next one is another caller's",
	);
}

/** Revokes what generate has made, if it made anything, so that nothing is left at the engine's system. @throws Finding */
export async function revoke(engine: Conversation, made: EngineResponse): Promise<void> {
	if ("data" in made) await engine.ask("validate", made.data);
}
