import type { LookupAddress } from "node:dns";
import { lookup, Resolver } from "node:dns/promises";
import { createSemaphore } from "../semaphore.ts";

/** Milliseconds for one question to a name server, which is asked once. */
const QUESTION_MS = 2000;

/** Milliseconds for which a lookup by the system waits for its turn: its fetch has ended by then. */
const WAIT_MS = 5000;

/** Resolves a name to all its addresses. @param signal ends the wait */
export type DnsLookup = (hostname: string, signal: AbortSignal) => Promise<LookupAddress[]>;

/** Lookups of the host names of issuers. */
export interface DnsLookups {
	/** Looks up a host that the operator named, as the system does: with `/etc/hosts`. */
	named: DnsLookup;
	/** Looks up any other host, in DNS alone: any account can name one in a trust, and choose how slowly its name server answers. */
	other: DnsLookup;
}

/**
 * Creates the lookups. One by the system uses one of a few threads that the whole process shares until it ends, and nothing cancels it: one runs at a time.
 * @param servers name servers in place of the system's
 * @param bySystem looks a name up as the system does
 */
export function createDnsLookups(
	servers?: readonly string[],
	bySystem: (hostname: string) => Promise<LookupAddress[]> = (hostname) => lookup(hostname, { all: true }),
): DnsLookups {
	const permits = createSemaphore(1);
	return {
		named: (hostname, signal) => {
			const resolve = async () => {
				signal.throwIfAborted();
				return bySystem(hostname);
			};
			return permits.run(resolve, { limit_ms: WAIT_MS });
		},
		other: (hostname, signal) => askServers(hostname, signal, servers),
	};
}

async function askServers(
	hostname: string,
	signal: AbortSignal,
	servers: readonly string[] | undefined,
): Promise<LookupAddress[]> {
	signal.throwIfAborted();
	const resolver = new Resolver({ timeout: QUESTION_MS, tries: 1 });
	if (servers !== undefined) resolver.setServers(servers);
	const cancel = () => resolver.cancel();
	signal.addEventListener("abort", cancel);
	try {
		const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
		if (four.status === "rejected" && six.status === "rejected") throw four.reason;
		return [...addressesOf(four, 4), ...addressesOf(six, 6)];
	} finally {
		signal.removeEventListener("abort", cancel);
	}
}

function addressesOf(outcome: PromiseSettledResult<string[]>, family: number): LookupAddress[] {
	return outcome.status === "rejected" ? [] : outcome.value.map((address) => ({ address, family }));
}
