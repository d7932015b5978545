import { spawnSync } from "node:child_process";

/** Programs that are not on every machine, and the Debian package that brings each. */
const PACKAGE: Record<string, string> = { strip: "binutils", tar: "tar", xz: "xz-utils" };

/**
 * Runs a program that the build needs.
 * @param cwd where it works; here when it is absent
 * @param env its whole environment beside PATH
 * @throws Error when it is missing, with what brings it, or fails, with the end of what it wrote
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
