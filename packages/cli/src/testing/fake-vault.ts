import { type FakeAnswer, page, refusal, startFake } from "./fake-server.ts";

interface Stored {
	readonly key: string;
	readonly value: string;
}

/** Behaviour of a service of secrets that is not the usual one. */
export interface VaultOptions {
	/** Secrets that are there already; a second page holds the last one. */
	readonly existing?: readonly Stored[];
	/** Key that it refuses to write. */
	readonly refused?: string;
	/** Called before each write. */
	onWrite?(key: string): void;
	/** The value that it keeps of one that is written; the same by default. */
	keep?(value: string): string;
}

/** Starts a fake service of secrets that remembers what is written, with the environment of a user of `shop/prod`. */
export async function startVault({ existing = [], refused, onWrite, keep = (value) => value }: VaultOptions = {}) {
	const secrets = new Map(existing.map((secret) => [secret.key, secret]));
	const list = (url: string): FakeAnswer => {
		const all = [...secrets.values()];
		if (url.includes("cursor=")) return page("secrets", all.slice(-1));
		const body = { secrets: all.slice(0, -1), pagination: { has_more: true, next_cursor: "c" } };
		return all.length < 2 ? page("secrets", all) : { body };
	};
	const server = await startFake(
		({ method, url, body }) => {
			if (method !== "POST") return list(url);
			const { key, value } = body as Stored;
			onWrite?.(key);
			if (key === refused) return refusal(400, "validation_failed", "value must be at most 262144 bytes");
			secrets.set(key, { key, value: keep(value) });
			return { status: 201, body: { key, version: 1 } };
		},
		{ plain: true },
	);
	const env = { SVC_TOKEN: "svc_token", SVC_ADDRESS: server.address };
	const written = () => server.requests.filter(({ method }) => method === "POST").map(({ body }) => body);
	return Object.assign(server, { env, written });
}
