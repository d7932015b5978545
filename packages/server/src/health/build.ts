import { execFileSync } from "node:child_process";

/** The running program. Spec: API › Health and metrics. */
export interface Build {
	version: string;
	/** Abbreviated commit, or `unknown`. */
	commit: string;
	/** ISO 8601 UTC, or `unknown`. */
	built: string;
}

export const VERSION = "0.1.0";

/** Embedded in the single binary when it is made, since it has no checkout around it. */
declare const SVC_BUILD: Build | undefined;

/** Environment of git, which needs none of ours. */
const ENVIRONMENT = { PATH: "/usr/local/bin:/usr/bin:/bin" };

/** Reads the build of the single binary; else commit and its time from git in a checkout. */
export function readBuild(): Build {
	if (typeof SVC_BUILD !== "undefined") return SVC_BUILD;
	try {
		const git = (...args: string[]) =>
			execFileSync("git", ["-C", import.meta.dirname, ...args], {
				encoding: "utf8",
				stdio: ["ignore", "pipe", "ignore"],
				timeout: 2000,
				env: ENVIRONMENT,
			}).trim();
		const [commit = "unknown", seconds = ""] = git("log", "-1", "--format=%h %ct").split(" ");
		return { version: VERSION, commit, built: new Date(Number(seconds) * 1000).toISOString() };
	} catch {
		return { version: VERSION, commit: "unknown", built: "unknown" };
	}
}
