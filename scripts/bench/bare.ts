import { fileURLToPath } from "node:url";
import { type ServerProcess, startServerProcess } from "./child.ts";
import { type Answer, type Ask, exchange } from "./exchange.ts";
import type { SvcServer } from "./svc-server.ts";

/** Answer of the bare server to every request. */
export interface BareAnswer {
	readonly status: number;
	readonly headers: Readonly<Record<string, string>>;
	readonly body: string;
	readonly tls: SvcServer["tls"];
}

/** Headers that Node writes by itself. */
const AUTOMATIC = new Set(["date", "connection", "keep-alive"]);

/** Bytes by which answers of ours may differ: digits of the request id and the version. */
const TOLERANCE_BYTES = 8;

/**
 * Starts the bare server with our answer to this request: status, headers, bytes, certificate.
 * @throws Error when its answer is not as large as ours, so that the comparison would not be fair
 */
export async function startBare(ours: Pick<SvcServer, "url" | "tls">, ask: Ask): Promise<ServerProcess> {
	const answer = await exchange(ours.url, ask);
	if (answer.status >= 300) throw new Error(`${ask.method} ${ask.path} is answered with ${answer.status}`);
	const own = answer.headers.filter(([name]) => !AUTOMATIC.has(name.toLowerCase()));
	const input: BareAnswer = {
		status: answer.status,
		headers: Object.fromEntries(own),
		body: answer.body,
		tls: ours.tls,
	};
	const program = fileURLToPath(new URL("./bare-server.ts", import.meta.url));
	const bare = await startServerProcess({ args: [program], env: {}, input: JSON.stringify(input) });
	assertAlike(answer, await exchange(bare.url, ask));
	return bare;
}

function assertAlike(ours: Answer, bare: Answer): void {
	const difference = Math.abs(sizeOf(ours) - sizeOf(bare));
	if (ours.headers.length === bare.headers.length && difference <= TOLERANCE_BYTES) return;
	throw new Error(`the bare server's answer differs from ours: ${describe(bare)} instead of ${describe(ours)}`);
}

function sizeOf({ headers, body }: Answer): number {
	return headers.reduce((sum, [name, value]) => sum + name.length + value.length, Buffer.byteLength(body));
}

function describe(answer: Answer): string {
	return `${answer.headers.length} headers and ${sizeOf(answer)} bytes`;
}
