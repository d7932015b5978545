import type { Fields } from "@svc/protocol";
import { createMask } from "../host/masking.ts";
import type { Command } from "./commands.ts";

/** A credential at a target: a user's name, and where it lives (documentdb: the authentication database; keyvalue: ""). */
export interface Subject {
	name: string;
	scope: string;
}

/**
 * `unreachable`: the target is away, went away in the middle, or did not say how it ended: a create may have happened, or may still.
 * `denied`: our admin credential or its rights do not suffice. `rejected`: it answered with another error. After these two there is no
 * credential.
 */
export type TargetTrouble = "unreachable" | "denied" | "rejected";

/** Why a target did not do what it was asked. The message is for people and never has a credential in it. Design: §8 */
export class TargetError extends Error {
	override readonly name = "TargetError";
	readonly kind: TargetTrouble;

	/** There is no `cause`: drivers put commands and connection strings into their errors. */
	constructor(kind: TargetTrouble, message: string) {
		super(message);
		this.kind = kind;
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

/** A system in which the core makes and deletes credentials with its own admin connection. Every method but `details` and `connection` throws TargetError. */
export interface Connector {
	/** Returns when the target answers and takes the admin credential. */
	ping(): Promise<void>;
	/** Whether the credential is there. */
	exists(subject: Subject): Promise<boolean>;
	/** A channel for one create, with what is needed later to make sure that it cannot land any more. */
	openChannel(): Promise<CreateChannel>;
	/**
	 * Ends whatever may still be under way with this fence.
	 * @returns false when that cannot be proven (a missing right, no such means): then the caller waits out a quarantine
	 */
	fence(fence: string): Promise<boolean>;
	/** Deletes the credential and cuts its connections; it is fine when there is none. Whether it worked, `exists` tells. */
	remove(subject: Subject): Promise<void>;
	/** Names of the managed shape that are at the target, whoever made them. */
	listManaged(scope: string): Promise<string[]>;
	/**
	 * What the core needs at the target, each right and whether it is there. Nothing there is changed.
	 * @param places that credentials may be for, beside the configuration's own
	 */
	privileges(places: readonly string[]): Promise<Privilege[]>;
	/** Fields that the core adds to the credential. Spec: ENGINES › Resources and their fields */
	details(credential: { username: string; password: string; database?: string }): Fields;
	/** What else whoever has a credential needs to connect with it, for callers that ask for it. */
	connection(): Fields;
	/** Ends every connection. Nothing can be asked afterwards. */
	close(): Promise<void>;
}

/** Carries one create. */
export interface CreateChannel {
	/** Names the way that the create takes, in the target's own terms; empty when there is no name. To be kept before `create`. */
	readonly fence: string;
	/** @throws TargetError */
	create(command: Command): Promise<void>;
	/** To be called once the create has ended, or is not wanted any more. */
	release(): void;
}

/** Characters of a target's own error text that are shown. */
const MAX_REPLY_CHARACTERS = 200;

/** A target's own error text, fit to be shown: secrets masked, on one line, bounded. */
export function shownReply(text: string, secrets: readonly string[]): string {
	const masked = createMask(secrets, 1)(text);
	return masked.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "?").slice(0, MAX_REPLY_CHARACTERS);
}
