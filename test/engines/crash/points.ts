/** Effects of a target on our request while the server dies. */
const FAULTS = [
	/** The create has been sent, and stays on its way for as long as the test wants. */
	"create held",
	/** The create takes effect, and its answer never comes. */
	"create unanswered",
	"remove unanswered",
	/** The account exists; its binding or its token does not, or the answer never comes. */
	"binding unmade",
	"binding unanswered",
	"token unmade",
] as const;

export type Fault = (typeof FAULTS)[number];

/** The state of a lease after a restart; `none`: no lease was written. */
type End = "none" | "aborted" | "active" | "revoked";

/** A moment at which the server dies. */
export interface Point {
	/** The id in the table of crash points. Design: §9 */
	readonly id: string;
	/** The request that dies with it. */
	readonly request: "generate" | "validate";
	/** The target's behaviour when the server is killed from outside, or the step at which the server kills itself. */
	readonly at: Fault | `${"before" | "after" | "during"} ${string}`;
	/** The kind of recovery that follows. */
	readonly recovers: keyof RecoverySteps;
	readonly ends: End;
	/** The last thing that has happened by then. */
	readonly after: string;
}

const point = (
	id: string,
	request: Point["request"],
	at: Point["at"],
	recovers: Point["recovers"],
	ends: End,
	after: string,
): Point => ({ id, request, at, recovers, ends, after });

/**
 * The points that every engine has. Revocations come first: at that time no lease that waits for its next look passes their steps.
 * C13 to C16 take more than a kill of the server, and have their own tests.
 */
export const POINTS: readonly Point[] = [
	point(
		"C8",
		"validate",
		"after leases.revoke",
		"revoked",
		"revoked",
		"it was written down that the credential is to go",
	),
	point("C9", "validate", "remove unanswered", "revoked", "revoked", "the removal was carried out, its answer lost"),
	point("C10", "validate", "before leases.settle", "revoked", "revoked", "the absence was verified, the lease is open"),
	point("C11", "validate", "after leases.settle", "none", "revoked", "the lease was closed"),
	point("C1", "generate", "before leases.begin", "none", "none", "everything was done but to write the intent"),
	point("C2", "generate", "after leases.begin", "aborted", "aborted", "the intent was written, nothing was sent"),
	point("C3", "generate", "create held", "aborted", "aborted", "the create was sent, and outlives the recovery"),
	point("C4", "generate", "create unanswered", "aborted", "aborted", "the create was carried out, its answer lost"),
	point("C5", "generate", "before leases.activate", "aborted", "aborted", "the create was answered"),
	point("C6", "generate", "after leases.activate", "none", "active", "the lease became active"),
	point("C7", "generate", "during answer", "none", "active", "half of the answer was written"),
];

/** C12: an engine that makes several objects has made some of them. */
export const PARTIAL_POINTS: readonly Point[] = [
	point("C12", "generate", "binding unmade", "aborted", "aborted", "the account was made, and no binding"),
	point("C12", "generate", "binding unanswered", "aborted", "aborted", "the binding was made, its answer lost"),
	point("C12", "generate", "token unmade", "aborted", "aborted", "the binding was made, and no token"),
];

/** Steps of a recovery, in order; the server dies a second time at each of them. */
export interface RecoverySteps {
	/** Steps for a create that may not have happened. */
	readonly aborted: readonly string[];
	/** Steps for a credential that is to be removed. */
	readonly revoked: readonly string[];
	/** Steps of a start with nothing to revoke. */
	readonly none: readonly string[];
}

/** Recovery where the core itself revokes credentials. @param close the record for an absent credential that was not known to exist */
export const coreRecovery = (close: "settle" | "postpone"): RecoverySteps => ({
	aborted: [
		"after leases.recover",
		// Only behind a fence is a credential that is absent known to stay so.
		...(close === "settle" ? ["after target.fence"] : []),
		"after target.remove",
		"after target.exists",
		`before leases.${close}`,
		`after leases.${close}`,
		"after target.list",
	],
	revoked: ["after target.remove", "after target.exists", "before leases.settle", "after leases.settle"],
	none: ["after leases.recover", "after target.list"],
});

/** Recovery where the engine revokes credentials, and nothing keeps a create from landing late. */
export const ENGINE_RECOVERY: RecoverySteps = {
	aborted: [
		"after leases.recover",
		"before engine.validate",
		"after engine.validate",
		"before leases.postpone",
		"after leases.postpone",
		"after engine.list",
	],
	revoked: ["after engine.validate", "after engine.list", "before leases.settle", "after leases.settle"],
	none: ["after leases.recover", "after engine.list"],
};

/** Tells whether the target takes part in the server's death. */
export function isFault(at: Point["at"]): at is Fault {
	return (FAULTS as readonly string[]).includes(at);
}
