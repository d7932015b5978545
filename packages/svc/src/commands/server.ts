import process from "node:process";
import type { LocalCommand } from "@svc/cli/command";

/** `svc server`: main.ts starts it without loading the client; here it is for its help, and to refuse words that it does not take. */
export const SERVER: LocalCommand = {
	usage: "server",
	summary: "run the server in this terminal",
	details: `Its settings are svc.toml in this folder, or the file that SVC_CONFIG names, and variables, which win: SVC_LISTEN, SVC_DATA_DIR, SVC_REGISTRATION_MODE and others. docs/settings.md lists them all.
The first start makes a certificate and the master key in the data directory, and prints the certificate's fingerprint.
SIGTERM and SIGINT stop it once the requests under way are answered; SIGHUP reads the certificate files again.`,
	examples: ["svc server", "SVC_DATA_DIR=/srv/svc SVC_LISTEN=127.0.0.1:9443 svc server"],
	run: async () => {
		const { runServer } = await import("../server.ts");
		await runServer(process);
	},
};
