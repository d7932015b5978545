import { type Io, write } from "./io.ts";
import type { Printer } from "./output.ts";

/** Says how far the work is, such as `12/200`. */
export type Report = (far: string) => void;

/** Milliseconds between two drawings: seldom enough to cost nothing, often enough to look alive. */
const PAUSE_MS = 100;

/**
 * Does something long. On a terminal one line on stderr says so meanwhile, and for how long already; nothing of it stays. Elsewhere, and with
 * `--json`, nothing is said.
 * @param what such as `making a backup`, already made `visible`
 */
export async function withProgress<Result>(
	{ io, options }: Printer,
	what: string,
	work: (report: Report) => Promise<Result>,
): Promise<Result> {
	if (io.stderr.isTTY !== true || io.env.TERM === "dumb" || options.json === true) return work(() => undefined);
	const started = performance.now();
	let shown = what;
	const draw = () => {
		const seconds = Math.floor((performance.now() - started) / 1000);
		drawLine(io, seconds === 0 ? shown : `${shown}, ${seconds} s`);
	};
	draw();
	const timer = setInterval(draw, PAUSE_MS);
	try {
		return await work((far) => {
			shown = `${what}: ${far}`;
		});
	} finally {
		clearInterval(timer);
		drawLine(io, "");
	}
}

/** Puts the text in place of the line; one that is too wide for the terminal would leave its first half behind. */
function drawLine({ stderr }: Io, text: string): void {
	void write(stderr, `\r\u001b[K${text.slice(0, (stderr.columns ?? 80) - 1)}`).catch(() => undefined);
}
