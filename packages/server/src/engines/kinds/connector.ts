import type { EngineResponse, Fields, Method } from "@svc/protocol";
import { createMask } from "../host/masking.ts";

/** A credential at a target: its name, and the scope in which that name is unique. */
export interface Subject {
	name: string;
	/** Authentication database or namespace, for example; empty if the target has none. */
	scope: string;
}

/**
 * `unreachable`: the target is away, went away in the middle, or did not report the outcome: a create may have happened, or still may.
 * `denied`: our rights there do not suffice. `rejected`: it answered with another error.
 */
export type TargetErrorKind = "unreachable" | "denied" | "rejected";

/** Failure of a target, or of an engine that works there. The message is for people and never contains a credential. Design: §8 */
export class TargetError extends Error {
	override readonly name = "TargetError";
	readonly kind: TargetErrorKind;
	/** True if it proves that a create made nothing. */
	readonly made_nothing: boolean;
	/** True if the engine itself answered so, whatever that means for the target. */
	readonly is_answer: boolean;

	/** Takes no `cause`: drivers put commands and connection strings into their errors. */
	constructor(
		kind: TargetErrorKind,
		message: string,
		{ made_nothing = kind !== "unreachable", is_answer = false }: { made_nothing?: boolean; is_answer?: boolean } = {},
	) {
		super(message);
		this.kind = kind;
		this.made_nothing = made_nothing;
		this.is_answer = is_answer;
	}
}

/** A right, or a setting of the target, that the work there needs. It contains nothing of a credential. */
export interface Privilege {
	/** For example `ACL DELUSER`. */
	name: string;
	/** `doubtful`: the work goes on without it, but less well, or its status is unknown. */
	status: "granted" | "missing" | "doubtful";
	/** Reason for needing it, or the fault. */
	message: string;
	/** Advice to the target's administrator; empty when it is granted. */
	hint: string;
}

/** A member of a realm who asks an engine: against whom failures of the engine count. */
export interface Member {
	realm_id: string;
	/** The account that the request counts against. */
	payer: string;
}

/** Request for a credential. */
export interface IssueRequest extends Member {
	role: string;
	/** The caller's params, confined to the configuration, with `ttl`. */
	params: Fields;
	scope: string;
	ttl_ms: number;
	/** True if the answer must list, in `connection`, further data needed to connect. */
	with_connection: boolean;
}

/** A credential about to be made. Its name and fence are recorded before `create` is called. */
export interface Draft {
	/** Empty when only the engine will know it. */
	readonly name: string;
	/** Means of keeping the create from landing late, in the target's own terms; empty when there is none. */
	readonly fence: string;
	/**
	 * Makes it, once.
	 * @throws TargetError, EngineUnavailable: unless the error proves that nothing was made, the core keeps trying until it is gone
	 */
	create(lease_id: string): Promise<Credential>;
	/** Called once the create has ended, or is no longer wanted. */
	release?(): void;
}

/** A credential that exists. */
export interface Credential {
	/** The answer to the caller. */
	data: Fields;
	/** Set if the draft had none. */
	name?: string;
	/** RFC 3339. */
	expires_at: string;
	/** Milliseconds from now; by default the request's `ttl_ms`. */
	lives_ms?: number;
	/** Data needed to remove it beyond its name, kept sealed. */
	payload?: Fields;
}

/** A member's request to revoke a credential. */
export interface RevokeRequest extends Member {
	/** The caller's params, confined to the configuration. */
	params: Fields;
	scope: string;
}

/** The credential that a request to revoke names, and the answer once it is revoked. */
export interface RevokeTarget {
	/** The credential's name. Neither this nor `texts` is set when it is not managed: the engine has answered already. */
	name?: string;
	/** Its scope, if the request chose it; else each configuration names its own. */
	scope?: string;
	/** Candidates in place of `name`: the ledger knows which one is a name. */
	texts?: string[];
	answer: Fields;
}

/** A credential to remove. */
export interface Remains extends Subject {
	lease_id: string;
	/** Realm that it belonged to; empty when no lease knows it. */
	realm_id: string;
	/** The former `Credential.payload`; undefined when there was none. */
	payload: Fields | undefined;
}

/**
 * A target, with one configuration. Every method throws TargetError for a failure of the target, EngineUnavailable for one of the process.
 */
export interface Connector {
	/** Scopes of its credentials, each with names of its own; none where the core cannot know names. */
	readonly scopes: readonly string[];
	/** Set if every credential that it reports has a payload. */
	readonly keepsPayload?: true;
	/** Returns when the target answers and accepts our credential. */
	ping(): Promise<void>;
	/** Prepares one credential without making it. @returns undefined when its name is taken: the core asks for another */
	prepare(request: IssueRequest): Promise<Draft | undefined>;
	/** Finds the credential that a member's request to revoke names. Nothing is removed yet. */
	readRevoke(request: RevokeRequest): Promise<RevokeTarget>;
	/**
	 * Ends any create still under way with this fence.
	 * @returns false when that cannot be proven (a missing right, no such means): then the caller waits out a quarantine
	 */
	fence?(fence: string): Promise<boolean>;
	/** Deletes the credential, if there is one, and cuts its connections. `exists` tells whether that worked. */
	remove(credential: Remains): Promise<void>;
	/** Tells whether the credential is there; undefined when nobody can tell. */
	exists(subject: Subject): Promise<boolean | undefined>;
	/** Lists names of the managed shape at the target, from any maker; undefined when they cannot be listed. */
	list(scope: string): Promise<string[] | undefined>;
	/** Checks the rights that the work there needs, without changing anything. */
	privileges?(): Promise<Privilege[]>;
	/** Ends every connection. Calls fail afterwards. */
	close?(): Promise<void>;
}

/**
 * Calls the engine's process. Secrets of the configuration are masked in its error.
 * @param of the realm whose member asks, or that the core asks for (`coreFor`); the core's own questions have none
 * @param payer the account that a member's request counts against
 * @throws EngineUnavailable
 */
export type Call = (method: Method, params: Fields, of?: string, payer?: string) => Promise<EngineResponse>;

/** Calls the engine's process for a member of a realm. @throws TargetError with the engine's own words, EngineUnavailable */
export type Ask = (method: Method, params: Fields, member: Member) => Promise<Fields>;

/** Characters shown of a target's own error text. */
const MAX_REPLY_CHARACTERS = 200;

/** Prepares a target's own error text for display: secrets masked, on one line, bounded. */
export function shownReply(text: string, secrets: readonly string[]): string {
	const masked = createMask(secrets, 1)(text);
	return masked.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "?").slice(0, MAX_REPLY_CHARACTERS);
}
