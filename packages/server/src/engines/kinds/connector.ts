import type { EngineResponse, Fields, Method } from "@svc/protocol";
import { createMask } from "../host/masking.ts";

/** A credential at a target: its name, and the scope in which that name is unique. */
export interface Subject {
	name: string;
	/** Such as an authentication database or a namespace; empty where the target has no such thing. */
	scope: string;
}

/**
 * `unreachable`: the target is away, went away in the middle, or did not say how it ended: a create may have happened, or may still.
 * `denied`: our rights there do not suffice. `rejected`: it answered with another error.
 */
export type TargetErrorKind = "unreachable" | "denied" | "rejected";

/** Why a target, or an engine that works there, did not do what it was asked. The message is for people and never has a credential in it. Design: §8 */
export class TargetError extends Error {
	override readonly name = "TargetError";
	readonly kind: TargetErrorKind;
	/** Whether it proves that a create made nothing. */
	readonly made_nothing: boolean;
	/** Whether the engine said so in answer, whatever that means of the target. */
	readonly is_answer: boolean;

	/** There is no `cause`: drivers put commands and connection strings into their errors. */
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

/** A right, or a setting of the target, that the work there needs. Nothing of a credential is in it. */
export interface Privilege {
	/** Such as `ACL DELUSER`. */
	name: string;
	/** `doubtful`: the work goes on without it, worse, or nobody can tell. */
	status: "granted" | "missing" | "doubtful";
	/** What it is needed for, or what is wrong. */
	message: string;
	/** What the target's administrator can do; empty when it is granted. */
	hint: string;
}

/** A credential that is asked for. */
export interface IssueRequest {
	role: string;
	/** The caller's params, confined to the configuration, with `ttl`. */
	params: Fields;
	scope: string;
	ttl_ms: number;
	/** Whether the answer is to say, in `connection`, what else is needed to connect. */
	with_connection: boolean;
	/** Whose member asks. */
	realm_id: string;
}

/** A credential that is about to be made. Its name and fence are written down before `create` is called. */
export interface Draft {
	/** Empty when only the engine will know. */
	readonly name: string;
	/** By what the create can be kept from landing late, in the target's own terms; empty when nothing can. */
	readonly fence: string;
	/**
	 * Makes it, once.
	 * @throws TargetError, EngineUnavailable: when neither says that nothing was made, the core goes on until it is gone
	 */
	create(lease_id: string): Promise<Credential>;
	/** Called once the create has ended, or is not wanted any more. */
	release?(): void;
}

/** A credential that exists. */
export interface Credential {
	/** The answer to whoever asked. */
	data: Fields;
	/** Where the draft had none. */
	name?: string;
	/** RFC 3339. */
	expires_at: string;
	/** Milliseconds from now on; the request's `ttl_ms` when it is left out. */
	lives_ms?: number;
	/** What removing it needs beyond its name: it is kept sealed. */
	payload?: Fields;
}

/** A request to revoke a credential, as a member sends it. */
export interface RevokeRequest {
	/** The caller's params, confined to the configuration. */
	params: Fields;
	scope: string;
	/** Whose member asks. */
	realm_id: string;
}

/** What a request to revoke is about, and its answer once that is done. */
export interface RevokeTarget {
	/** The credential's name. Neither this nor `texts` is given when it is none of ours: the engine has answered already. */
	name?: string;
	/** Its scope, where the request chose it; else each configuration says its own. */
	scope?: string;
	/** In place of `name`: any of these texts may be it, the ledger knows. */
	texts?: string[];
	answer: Fields;
}

/** A credential that is to be removed. */
export interface Remains extends Subject {
	lease_id: string;
	/** Whose it was; empty when no lease knows it. */
	realm_id: string;
	/** What `Credential.payload` was; undefined when there was none. */
	payload: Fields | undefined;
}

/**
 * A target, with one configuration. Every method throws TargetError for what the target did, and EngineUnavailable for an engine's process.
 */
export interface Connector {
	/** Where its credentials live, each with names of its own; none where the core cannot know names. */
	readonly scopes: readonly string[];
	/** Returns when the target answers and takes our credential there. */
	ping(): Promise<void>;
	/** Prepares one credential without making it. @returns undefined when its name is taken: the core asks for another one */
	prepare(request: IssueRequest): Promise<Draft | undefined>;
	/** Says which credential a member's request to revoke is about. Nothing is removed yet. */
	readRevoke(request: RevokeRequest): Promise<RevokeTarget>;
	/**
	 * Ends whatever may still be under way with this fence.
	 * @returns false when that cannot be proven (a missing right, no such means): then the caller waits out a quarantine
	 */
	fence?(fence: string): Promise<boolean>;
	/** Deletes the credential and cuts its connections; it is fine when there is none. Whether it worked, `exists` tells. */
	remove(credential: Remains): Promise<void>;
	/** Whether the credential is there; undefined when that cannot be told. */
	exists(subject: Subject): Promise<boolean | undefined>;
	/** Names of the managed shape that are there, whoever made them; undefined when they cannot be listed. */
	list(scope: string): Promise<string[] | undefined>;
	/** The rights that the work there needs, and whether each is there. Nothing there is changed. */
	privileges?(): Promise<Privilege[]>;
	/** Ends every connection. Nothing can be asked afterwards. */
	close?(): Promise<void>;
}

/**
 * Asks the engine's process.
 * @param of the realm whose member asks, or whom the core asks for (`coreFor`); the core's own questions have none
 * @throws EngineUnavailable
 */
export type Call = (method: Method, params: Fields, of?: string) => Promise<EngineResponse>;

/** Asks the engine's process. @throws TargetError with the engine's own words, EngineUnavailable */
export async function ask(call: Call, method: Method, params: Fields, realm_id?: string): Promise<Fields> {
	const answer = await call(method, params, realm_id);
	if ("data" in answer) return answer.data;
	throw new TargetError("rejected", answer.error);
}

/** Characters of a target's own error text that are shown. */
const MAX_REPLY_CHARACTERS = 200;

/** A target's own error text, fit to be shown: secrets masked, on one line, bounded. */
export function shownReply(text: string, secrets: readonly string[]): string {
	const masked = createMask(secrets, 1)(text);
	return masked.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "?").slice(0, MAX_REPLY_CHARACTERS);
}
