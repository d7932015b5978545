import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type ServerProcess, startServerProcess } from "./child.ts";
import { scratchFolder } from "./scratch.ts";

/** Protocol to reach the server. */
export type Protocol = "http" | "https";

/** Our server under measurement. */
export interface SvcServer extends ServerProcess {
	/** Its data directory. */
	readonly data: string;
	/** Certificate and key, PEM; undefined over plain HTTP. */
	readonly tls: { readonly cert: string; readonly key: string } | undefined;
}

/** Differences from a start with the defaults on an empty data directory. */
export interface SvcOptions {
	readonly protocol: Protocol;
	readonly data?: string;
	/** More variables. */
	readonly env?: Readonly<Record<string, string>>;
	/** Options of Node itself. */
	readonly nodeOptions?: readonly string[];
	/** Script, with arguments, that starts svc in place of its own. */
	readonly program?: readonly string[];
}

/** Starts our server from source on a free port of the loopback interface, otherwise with the default settings. */
export async function startSvc(options: SvcOptions): Promise<SvcServer> {
	const { protocol, data = scratchFolder(), nodeOptions = [], program = ["packages/svc/src/bin.mjs"] } = options;
	const server = await startServerProcess({
		args: [...nodeOptions, ...program, "server"],
		env: {
			HOME: data,
			SVC_DATA_DIR: data,
			SVC_LISTEN: "127.0.0.1:0",
			SVC_TLS_MODE: protocol === "http" ? "off" : "self-signed",
			...options.env,
		},
	});
	const read = (name: string): string => readFileSync(join(data, name), "utf8");
	return { ...server, data, tls: protocol === "http" ? undefined : { cert: read("tls.crt"), key: read("tls.key") } };
}
