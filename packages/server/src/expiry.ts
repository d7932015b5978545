/** Tells whether something has ended by an instant. @param expires_at its end; null when it has none. Both are ISO 8601 UTC. */
export function hasExpired(expires_at: string | null, by: string): boolean {
	return expires_at !== null && expires_at <= by;
}
