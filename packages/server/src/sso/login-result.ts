import type { Visitor } from "../audit/model.ts";
import { AppError } from "../errors.ts";
import { type Flow, type Flows, isReauthentication, type Waiting } from "./flows.ts";
import type { SignedIn } from "./identity.ts";
import type { Provider } from "./providers.ts";
import { guarded, type RefusalNeeds } from "./refusals.ts";

/** The end of a login in a browser: a session, or the address where a program or the console waits for it. */
export type LoginResult = { cookie: string } & ({ signedIn: SignedIn } | { location: string });

/**
 * Returns the address that reports a refusal to a waiting program: by its code alone, because any page can send a browser there.
 * @throws the error itself when nothing waits
 */
export function refusalAddress(error: unknown, waiting: Waiting | null): string {
	if (waiting === null || !(error instanceof AppError)) throw error;
	const target = isReauthentication(waiting) ? `&target=${encodeURIComponent(waiting.target)}` : "";
	return `${waiting.address}?error=${error.code}${target}`;
}

/** Asks a protocol whose login it is; the flow is undefined while it is unknown which one the answer belongs to. */
type AskProtocol = <T>(flow: Flow | undefined, request: () => Promise<T>) => Promise<T>;

/**
 * Ends a login, `guarded`. A program that waits for it learns of a refusal by the protocol.
 * @throws whatever `guarded` makes of a refusal when no program is known to wait
 */
export async function finishLogin(
	needs: RefusalNeeds & { flows: Pick<Flows, "clear"> },
	visitor: Visitor,
	provider: Provider,
	attempt: (ask: AskProtocol) => Promise<LoginResult>,
): Promise<LoginResult> {
	let asked: Flow | undefined;
	const ask: AskProtocol = async (flow, request) => {
		asked = flow;
		const answer = await request();
		asked = undefined;
		return answer;
	};
	try {
		return await guarded(needs, visitor, provider, () => attempt(ask));
	} catch (error) {
		if (asked === undefined) throw error;
		return { cookie: needs.flows.clear(asked), location: refusalAddress(error, asked.waiting) };
	}
}
