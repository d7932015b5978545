/** Tables that servers on PostgreSQL share, whose rows have no MAC and are in no backup, each with the reason. */
export const SHARED_TABLES: Readonly<Record<string, string>> = {
	alteration: "makes servers refuse; without it, each still checks the database itself",
	attempt:
		"slows down guesses, in addition to what each server counts in memory; a wait ends within a quarter of an hour",
	busy_caller: "slows down callers that fill the database, for a second at a time",
	challenge_count: "bounds what is stored, and grants nothing: the challenge is marked in sso_used",
	duty: "names the server that does work for all; work that is done twice does no harm",
	jwt_source:
		"reports a second source; the event of each token has the JWT's id and the address, whatever these rows say",
	lease_claim: "delays a revocation by the time of one claim at most",
	session_use: "shown to a session's owner and to instance admins, decides nothing",
	sso_code: "a box that opens under its own code alone; one that was taken is marked in sso_used",
	node: "shown to people; a master key waits for its servers, or goes on without one, which then refuses every request",
};
