import { spawn } from "node:child_process";
import { once } from "node:events";
import { environmentFor } from "./environment.ts";
import { type Io, isInteractive, write } from "./io.ts";

/** Writes a text to stdout; through a pager when it is longer than the terminal. PAGER names another one, and none when it is empty. */
export async function writePaged(io: Io, text: string): Promise<void> {
	const command = (io.env.PAGER ?? "less").split(" ").filter((word) => word !== "");
	const isLong = text.split("\n").length > (io.stdout.rows || Number.POSITIVE_INFINITY);
	const shown = isLong && isInteractive(io) && io.env.TERM !== "dumb" && (await page(io, command, text));
	if (!shown) await write(io.stdout, text);
}

/** Colours as they are, no pager for what fits, and the text stays on the screen. */
const LESS = "FRX";

/** Shows a text in a pager until the reader leaves it. @returns whether there is such a pager */
async function page(io: Io, [name, ...args]: readonly string[], text: string): Promise<boolean> {
	if (name === undefined) return false;
	const env = { LESS, ...environmentFor(io, []) };
	const pager = spawn(name, args, { env, stdio: ["pipe", "inherit", "inherit"] });
	const ended = once(pager, "close");
	// The pager decides what Ctrl-C means.
	const stay = () => undefined;
	io.on("SIGINT", stay);
	try {
		await once(pager, "spawn");
		pager.stdin.on("error", () => undefined).end(text);
		await ended;
		return true;
	} catch {
		await ended.catch(() => undefined);
		return false;
	} finally {
		io.off("SIGINT", stay);
	}
}
