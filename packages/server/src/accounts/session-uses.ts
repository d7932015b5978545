/** A use of a session. */
export interface SessionUse {
	/** ISO 8601 UTC. */
	at: string;
	/** Source address. */
	ip: string;
	/** Program that used it, as it names itself: at most MAX_AGENT characters. */
	agent: string;
}

/** Characters of a program's name that are kept. */
export const MAX_AGENT = 255;

/** Sessions whose last use is kept. Design: §13 */
export const MAX_SESSION_USES = 20_000;
