import type { Ask } from "../exchange.ts";
import type { Resident } from "../resident.ts";

/** A kind of request whose cost two builds are compared by. */
export interface BuildKind {
	readonly name: string;
	readonly title: string;
	readonly connections: number;
	/** Requests in a round. */
	readonly count: number;
	/** Largest multiple of the other build's processor time; undefined when nothing is promised. */
	readonly atMost?: number;
	/** Makes the requests of a round, of which none was sent before. */
	requests(resident: Resident, round: number, count: number): Ask[];
}

/** Secrets in the realm that is listed. */
export const LISTED = 50;

const READS_AT_MOST = 1.1;
const WRITES_AT_MOST = 1.15;
const VALUE = "postgres://app:f3Jq8@db.internal:5432/app";
const [CONNECTIONS, CREDENTIAL_CONNECTIONS] = [32, 16];
const COUNT = 2000;

const secretsOf = (slug: string) => `/api/v1/realms/${slug}/secrets`;
const repeated = (count: number, make: (at: number) => Ask) => Array.from({ length: count }, (_, at) => make(at));

/** Sets a secret in the default environment. */
export const setting = ({ token, slug }: Resident, key: string): Ask => ({
	method: "POST",
	path: secretsOf(slug),
	token,
	body: { key, value: VALUE },
});

/** Kinds of requests by which the cost of the rows' MACs is bounded. */
export const BUILD_KINDS: readonly BuildKind[] = [
	{
		name: "read",
		title: "read of one secret again and again",
		connections: CONNECTIONS,
		count: 2 * COUNT,
		atMost: READS_AT_MOST,
		requests: ({ token, slug, key }, _, count) =>
			repeated(count, () => ({ method: "GET", path: `${secretsOf(slug)}/${key}`, token })),
	},
	{
		name: "list",
		title: `list of ${LISTED} secrets`,
		connections: CONNECTIONS,
		count: COUNT / 2,
		atMost: READS_AT_MOST,
		requests: ({ token }, _, count) =>
			repeated(count, () => ({ method: "GET", path: `${secretsOf("listed")}?limit=${LISTED}`, token })),
	},
	{
		name: "new",
		title: "new secret",
		connections: CONNECTIONS,
		count: COUNT,
		atMost: WRITES_AT_MOST,
		requests: (resident, round, count) => repeated(count, (at) => setting(resident, `NEW_${round}_${at}`)),
	},
	{
		name: "version",
		title: "version of one secret again and again",
		connections: CONNECTIONS,
		count: COUNT,
		atMost: WRITES_AT_MOST,
		requests: (resident, _, count) => repeated(count, () => setting(resident, "WRITTEN")),
	},
	{
		name: "credential",
		title: "credential of keyvalue with its lease",
		connections: CREDENTIAL_CONNECTIONS,
		count: COUNT / 2,
		atMost: WRITES_AT_MOST,
		requests: ({ token, slug }, _, count) =>
			repeated(count, () => ({
				method: "POST",
				path: `/api/v1/realms/${slug}/engines/keyvalue/generate`,
				token,
				body: { role: "readonly", ttl: "1h" },
			})),
	},
];
