import process from "node:process";
import type { LocalCommand } from "@svc/cli/command";

/** `svc server`: main.ts starts it without loading the client; here it is for its help, and to refuse words that it does not take. */
export const SERVER: LocalCommand = {
	usage: "server",
	summary: "run the server in this terminal",
	details: `The server reads its settings from svc.toml in this folder, or from the file that SVC_CONFIG names, and from variables, which override the file: SVC_LISTEN, SVC_DATA_DIR, SVC_REGISTRATION_MODE and others. docs/settings.md lists them all.
The first start creates a certificate and the master key in the data directory, and prints the certificate's fingerprint.
SIGTERM and SIGINT stop the server after it has answered the requests under way; SIGHUP makes it read the certificate files again.`,
	examples: ["svc server", "SVC_DATA_DIR=/srv/svc SVC_LISTEN=127.0.0.1:9443 svc server"],
	run: async () => {
		const { runServer } = await import("../server.ts");
		await runServer(process);
	},
};
