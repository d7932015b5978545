import type { AuditEvent } from "../audit/model.ts";
import type { AppError } from "../errors.ts";
import { type CurrentAccess, refuseMaker } from "../policy/decide.ts";

/** Event of a change that has a maker. */
export type MadeEvent = AuditEvent & Required<Pick<AuditEvent, "maker">>;

/** Finds the event of a maker's change among an operation's arguments. */
export function madeEventIn(args: readonly unknown[]): MadeEvent | undefined {
	return args.find(isByMaker);
}

function isByMaker(given: unknown): given is MadeEvent {
	return typeof given === "object" && given !== null && "maker" in given && given.maker !== undefined;
}

/**
 * Refuses a change whose maker has lost the right to it; undefined when nothing is to be refused. Design: §13
 * @returns the answer, and the event that shows it in the log as if the rule itself had refused; undefined when it is not logged
 */
export function refuseEvent(
	access: CurrentAccess,
	{ maker, timestamp, data, ...about }: MadeEvent,
): { answer: AppError; denied: AuditEvent | undefined } | undefined {
	const refused = refuseMaker(access, maker);
	if (refused === undefined) return undefined;
	const { answer, wanted } = refused;
	if (wanted === undefined) return { answer, denied: undefined };
	const { request_id, ip, token_id, session_id, machine } = data;
	const facts = { wanted, reason: answer.code, request_id, ip, token_id, session_id, machine };
	return { answer, denied: { ...about, timestamp, type: "access.denied", data: facts } };
}
