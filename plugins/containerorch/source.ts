/** The trust of a connection: an authority, in PEM, or any server. */
export type Trust = { ca: string } | "unverified";

/** The engine's proof of identity. Certificate and key are PEM. */
export type Identity = { token: string } | { tokenFile: string } | { certificate: string; key: string };

/** The values of one source of the configuration; another source may add the rest. */
export interface Source {
	server?: string | undefined;
	trust?: Trust | undefined;
	/** The name in the server's certificate, if it differs from the address. */
	servername?: string | undefined;
	identity?: Identity | undefined;
	namespace?: string | undefined;
}

/** An unusable configuration. The message names the value, and contains nothing of it. */
export class ConfigError extends Error {
	override readonly name = "ConfigError";
}

/** Returns the system's code for why a file cannot be read, such as ENOENT. */
export function errorCode(error: unknown): string {
	return error instanceof Error && "code" in error ? String(error.code) : "unknown";
}
