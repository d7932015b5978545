import { type Io, write } from "./io.ts";
import type { Printer } from "./output.ts";

/** Reports progress, such as `12/200`. */
export type Report = (far: string) => void;

/** Milliseconds between two updates: rare enough to cost nothing, frequent enough to look alive. */
const PAUSE_MS = 100;

/**
 * Runs a long task. On a terminal, one line on stderr shows the task and its time so far, and then disappears. Elsewhere, and with
 * `--json`, nothing is printed.
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
	let drawn = Number.NEGATIVE_INFINITY;
	const draw = () => {
		drawn = performance.now();
		const seconds = Math.floor((performance.now() - started) / 1000);
		drawLine(io, seconds === 0 ? shown : `${shown}, ${seconds} s`);
	};
	draw();
	const timer = setInterval(draw, PAUSE_MS);
	try {
		return await work((far) => {
			shown = `${what}: ${far}`;
			// Work that lets no timer run, such as another program that it waits for, shows its steps all the same.
			if (performance.now() - drawn >= PAUSE_MS) draw();
		});
	} finally {
		clearInterval(timer);
		drawLine(io, "");
	}
}

/** Answers a question about what was found. */
type Asker<Found> = (found: Found) => Promise<boolean>;

/**
 * Runs a long task that asks a question in its middle, like `withProgress`: the line is not there while the question is.
 * @param before what it does before the question
 * @param after what it does after it
 * @param work calls its argument once it has found what to ask about, or ends without
 */
export async function withQuestion<Found, Result>(
	printer: Printer,
	[before, after]: readonly [before: string, after: string],
	work: (confirm: Asker<Found>) => Promise<Result>,
	ask: Asker<Found>,
): Promise<Result> {
	const { promise: found, resolve: find } = Promise.withResolvers<{ readonly found: Found }>();
	const { promise: answer, resolve, reject } = Promise.withResolvers<boolean>();
	const result = work((what) => {
		find({ found: what });
		return answer;
	});
	const first = await withProgress(printer, before, () => Promise.race([found, result.then(() => undefined)]));
	if (first !== undefined) await ask(first.found).then(resolve, reject);
	return withProgress(printer, after, () => result);
}

/** Replaces the line with the text; one wider than the terminal would leave its first half behind. */
function drawLine({ stderr }: Io, text: string): void {
	// A terminal without a size says 0.
	void write(stderr, `\r\u001b[K${text.slice(0, (stderr.columns || 80) - 1)}`).catch(() => undefined);
}
