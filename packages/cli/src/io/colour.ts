import { type Io, setting } from "./io.ts";

/** A terminal's colours, by their codes. */
const CODES = { good: 32, warning: 33, bad: 31 } as const;

const STATES: Readonly<Record<string, keyof typeof CODES>> = {
	ok: "good",
	healthy: "good",
	active: "good",
	yes: "good",
	warning: "warning",
	intent: "warning",
	uncertain: "warning",
	revoking: "warning",
	disabled: "warning",
	failed: "bad",
	unhealthy: "bad",
	abandoned: "bad",
	no: "bad",
};

/** Tells whether output may have colours: on a terminal that knows them, unless NO_COLOR is set. */
export function isColourful(io: Io): boolean {
	return io.stdout.isTTY === true && setting(io, "NO_COLOR") === undefined && io.env.TERM !== "dumb";
}

/** A state such as `ok`, `warning` or `failed` in its colour; every other text unchanged. */
export function paintState(text: string): string {
	const colour = STATES[/^\w+/.exec(text)?.[0] ?? ""];
	return colour === undefined ? text : `\u001b[${CODES[colour]}m${text}\u001b[39m`;
}
