/** Facts of events that name an account. */
const PEOPLE = ["user_id", "owner", "was", "granted_by", "invited_by"];

/** Ids of accounts: `was` of a restored realm is a slug. */
const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Lists the ids of the accounts that an event is about. @param data its facts, as JSON */
export function peopleIn(data: string): string[] {
	const facts = JSON.parse(data) as Record<string, unknown>;
	return PEOPLE.map((name) => facts[name]).filter((id): id is string => typeof id === "string" && ID.test(id));
}
