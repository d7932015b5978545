import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";

const MAX_REDIRECTS = 10;

/** A person's browser, as far as a login needs one: it keeps cookies by origin, and follows redirects. */
export interface Browser {
	/** Opens an address and follows redirects until one leads to `end`, which it returns without opening it. */
	follow(address: string, end: string): Promise<URL>;
}

/** Makes a browser without cookies. @param ca PEM of the authorities that it trusts */
export function createBrowser(ca: string): Browser {
	const agent = new Agent({ ca });
	const jars = new Map<string, Map<string, string>>();
	async function open(address: URL): Promise<IncomingMessage> {
		const jar = jars.get(address.origin) ?? new Map<string, string>();
		jars.set(address.origin, jar);
		const cookie = [...jar].map((pair) => pair.join("=")).join("; ");
		const outgoing = request(address, { agent, headers: cookie === "" ? {} : { cookie } }).end();
		const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
		for (const line of answer.headers["set-cookie"] ?? []) {
			const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
			if (value === "") jar.delete(name);
			else jar.set(name, value);
		}
		answer.resume();
		return answer;
	}
	return {
		async follow(address, end) {
			let here = new URL(address);
			for (let step = 0; step < MAX_REDIRECTS; step++) {
				if (here.href.startsWith(end)) return here;
				const { statusCode, headers } = await open(here);
				if (headers.location === undefined) throw new Error(`${here.pathname} answered ${statusCode}`);
				here = new URL(headers.location, here);
			}
			throw new Error(`more than ${MAX_REDIRECTS} redirects`);
		},
	};
}
