/** Reads an event's facts; undefined where another program stored none. */
export function factsIn(data: unknown): Record<string, unknown> | undefined {
	try {
		const facts: unknown = JSON.parse(String(data));
		return typeof facts === "object" && facts !== null ? (facts as Record<string, unknown>) : undefined;
	} catch {
		return undefined;
	}
}

/** Lists the roles of engines that a row names; what is there, where another program wrote no list. */
export function rolesIn(engines: string | null): string {
	if (engines === null) return "";
	try {
		return (JSON.parse(engines) as string[]).join();
	} catch {
		return String(engines);
	}
}
