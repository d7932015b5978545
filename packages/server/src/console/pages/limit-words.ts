/** Names that say too little without the rest of their sentence. */
const WORDS: Readonly<Partial<Record<string, string>>> = {
	accounts: "Accounts",
	answer_bytes: "Bytes of answers that clients have not read yet",
	answer_bytes_per_account: "Bytes of answers that one account or source has not read yet",
	answer_bytes_per_token: "Bytes of answers that one token or session has not read yet",
	body_bytes: "Bytes of requests that are arriving",
	body_bytes_per_source: "Bytes of requests that are arriving from one source",
	connections: "Connections of clients",
	failed_logins_per_account: "Failed sign-ins to one account",
	failed_logins_per_account_and_source: "Failed sign-ins to one account from one source",
	failed_logins_per_source: "Failed sign-ins from one source",
	low_disk_events_per_second: "Events per second while the disk is nearly full",
	max_connections: "Open credentials of one engine",
	max_connections_per_realm: "Open credentials of one engine in one realm",
	question_seconds: "Seconds that the longest question about the log or leases takes",
	realm_bytes: "Bytes that one realm holds",
	requests_waiting_for_commits: "Changes that wait for the disk",
	used_jwts_per_realm: "JWTs that one realm remembers as used",
	wrong_codes_per_day_per_account: "Wrong codes for one account in a day",
};

/** Says in words what a limit counts. */
export function limitInWords(name: string): string {
	const words = name
		.replaceAll(/_per_(second|minute|day)/g, " per $1")
		.replaceAll("_per_", ", of one ")
		.replaceAll("_", " ");
	return WORDS[name] ?? words.charAt(0).toUpperCase() + words.slice(1);
}

const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"] as const;

/** Writes a number of a limit as a person reads it: rounded, and bytes in their unit. */
export function amountOf(name: string, value: number): string {
	if (!/bytes/.test(name)) return value.toLocaleString("en", { maximumFractionDigits: /seconds/.test(name) ? 1 : 0 });
	const power = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, value)) / 10));
	const amount = value / 1024 ** power;
	return `${amount.toLocaleString("en", { maximumFractionDigits: amount < 10 ? 1 : 0 })} ${UNITS[power] ?? ""}`;
}
