import type { ChildProcess } from "node:child_process";

/** The line on stdout with which a server starts to listen, and its address. */
export const LISTENING = /listening on (https?:\/\/\S+)/;

/**
 * Waits until a server listens, and returns its address.
 * @param limit_ms time after which the server is killed
 * @param stderr returns what it wrote there, for the error
 * @throws Error when the server ends first, or is silent for too long
 */
export function listening(child: ChildProcess, limit_ms: number, stderr: () => string): Promise<string> {
	return new Promise((resolve, reject) => {
		let output = "";
		const fail = (why: string): void => reject(new Error(`the server ${why}\n${output}\n${stderr()}`));
		const timeout = setTimeout(() => {
			child.kill("SIGKILL");
			fail("did not listen in time");
		}, limit_ms);
		child.once("close", (code) => {
			clearTimeout(timeout);
			fail(`ended with exit code ${String(code)} before it listened`);
		});
		child.stdout?.setEncoding("utf8").on("data", (text: string) => {
			output += text;
			const url = LISTENING.exec(output)?.[1];
			if (url === undefined) return;
			clearTimeout(timeout);
			resolve(url);
		});
	});
}
