import { spawnSync } from "node:child_process";

/** Programs that some machines lack, and the Debian package of each. */
const PACKAGE: Record<string, string> = { strip: "binutils", tar: "tar", xz: "xz-utils" };

/**
 * Runs a program that the build needs.
 * @param cwd its folder; the current one when absent
 * @param env its whole environment besides PATH
 * @throws Error when it is missing, with its package, or fails, with the end of its output
 */
export function runTool(
	tool: string,
	args: readonly string[],
	{ cwd, env = {} }: { cwd?: string; env?: Readonly<Record<string, string>> } = {},
): void {
	const { error, status, stderr } = spawnSync(tool, args, {
		cwd,
		env: { PATH: "/usr/local/bin:/usr/bin:/bin", ...env },
		encoding: "utf8",
		stdio: ["ignore", "ignore", "pipe"],
	});
	if (error !== undefined) {
		const remedy = tool in PACKAGE ? `install it (Debian: apt-get install ${PACKAGE[tool]})` : error.message;
		throw new Error(`${tool} cannot be run: ${remedy}`);
	}
	if (status !== 0) throw new Error(`${tool} failed with status ${status}: ${stderr.slice(-2000)}`);
}
