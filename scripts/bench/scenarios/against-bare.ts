import { startBare } from "../bare.ts";
import type { Ask } from "../exchange.ts";
import { requestsInTurn, sameRequest } from "../load.ts";
import { type Resident, settle } from "../resident.ts";
import { type Comparison, compare } from "../rounds.ts";
import type { Result, Scenario } from "../scenario.ts";
import { type Protocol, type SvcOptions, type SvcServer, startSvc } from "../svc-server.ts";
import { writeScript } from "../wrk.ts";

/** Connections of the load, all kept alive. */
export const CONNECTIONS = 32;
const KEYS = 1000;
const MAX_P99_RATIO = 4;

/** A kind of request to measure against a bare server. */
export interface Kind {
	readonly name: string;
	readonly title: string;
	/** Smallest share of the bare server's requests per second. */
	readonly atLeast: number;
	/** Largest multiple of the bare server's p99; undefined when nothing is promised. */
	readonly p99AtMost?: number;
	/** Connections of the load, when not the usual number. */
	readonly connections?: number;
	/** Starts and sets up what the requests need besides the server. */
	prepare?(server: SvcServer, resident: Resident): Promise<{ stop(): Promise<void> }>;
	requests(resident: Resident): readonly [Ask, ...Ask[]];
}

/** Kinds of requests measured against a bare server. */
export const KINDS: readonly Kind[] = [
	{
		name: "read",
		title: "audited read of a secret",
		atLeast: 0.25,
		p99AtMost: MAX_P99_RATIO,
		requests: ({ token, slug, key }) => [{ method: "GET", path: `/api/v1/realms/${slug}/secrets/${key}`, token }],
	},
	{
		name: "write",
		title: "write of one secret again and again",
		atLeast: 0.08,
		requests: (resident) => [setSecret(resident, "WRITTEN")],
	},
	{
		name: "write-many",
		title: `write of ${KEYS} secrets in turn`,
		atLeast: 0.08,
		requests: (resident) => [setSecret(resident, "KEY_0"), ...others(resident)],
	},
	{
		name: "encrypt",
		title: "encrypt",
		atLeast: 0.25,
		requests: ({ token }) => [{ method: "POST", path: "/api/v1/encrypt", token, body: { value: VALUE } }],
	},
];

const VALUE = "postgres://app:f3Jq8@db.internal:5432/app";

function setSecret({ token, slug }: Resident, key: string): Ask {
	return { method: "POST", path: `/api/v1/realms/${slug}/secrets`, token, body: { key, value: VALUE } };
}

function others(resident: Resident): Ask[] {
	return Array.from({ length: KEYS - 1 }, (_, at) => setSecret(resident, `KEY_${at + 1}`));
}

/** Every kind of request over HTTP, and again over HTTPS, against a bare server that gives the same answer. */
export const AGAINST_BARE: readonly Scenario[] = (["http", "https"] as const).flatMap((protocol) =>
	KINDS.map((kind) => ({
		name: protocol === "http" ? kind.name : `${kind.name}-https`,
		title: `${kind.title}, ${protocol.toUpperCase()}`,
		run: () => againstBare(kind, protocol),
	})),
);

/** Loads our server with one kind of request, and in turn a bare server that gives the same answer. @param env more variables of our server */
export async function againstBare(kind: Kind, protocol: Protocol, env: SvcOptions["env"] = {}): Promise<Result> {
	const ours = await startSvc({ protocol, env });
	const resident = await settle(ours.url);
	const prepared = await kind.prepare?.(ours, resident);
	const requests = kind.requests(resident);
	const bare = await startBare(ours, requests[0]);
	const script = writeScript(requests.length === 1 ? sameRequest(requests[0]) : requestsInTurn(requests));
	const load = { script, connections: kind.connections ?? CONNECTIONS };
	const comparison = await compare({ ...load, server: bare }, { ...load, server: ours });
	await Promise.all([ours.stop(), bare.stop(), prepared?.stop()]);
	return { findings: judge(kind, comparison), comparison: { ...comparison, baseName: `bare node:${protocol}` } };
}

function judge(kind: Kind, { ratios }: Comparison): Result["findings"] {
	const { p99AtMost } = kind;
	return [
		{
			measure: "requests per second to bare",
			value: ratios.perSecond,
			unit: "ratio",
			target: { atLeast: kind.atLeast },
		},
		{
			measure: "p99 to bare",
			value: ratios.p99Ms,
			unit: "ratio",
			...(p99AtMost === undefined ? {} : { target: { atMost: p99AtMost } }),
		},
	];
}
