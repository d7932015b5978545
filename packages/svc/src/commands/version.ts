import type { LocalCommand } from "@svc/cli/command";
import { showFields } from "@svc/cli/output";

/** `svc version`: identifies this executable. */
export const VERSION: LocalCommand = {
	usage: "version",
	summary: "show the version of this executable and the commit it was built from",
	details: "`svc health` shows the same for a server.",
	examples: ["svc version", "svc version --json"],
	async run(context) {
		const { readBuild } = await import("@svc/server/build");
		const build = readBuild();
		await showFields(context, build, Object.entries(build));
	},
};
