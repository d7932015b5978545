// Objects for External Secrets Operator. Its webhook provider fills in {{ .remoteRef.key }}, escaped as in a query, and {{ .svc.token }} from
// the Secret that `secrets` names under `svc`; that Secret must carry the label below.
// https://external-secrets.io/latest/provider/webhook/ https://external-secrets.io/latest/api/generator/webhook/

import { Failure } from "../failure.ts";
import { parseDuration } from "../input/duration.ts";
import type { LeaseRequest } from "../input/lease-request.ts";

/** Contents wanted in a cluster. */
export interface Sync {
	/** The server as the cluster reaches it, as parseAddress spells it. */
	readonly address: string;
	/** PEM by which the cluster is to trust the server; absent when it already does. */
	readonly certificate: string | undefined;
	/** Slug. */
	readonly realm: string;
	readonly environment: string;
	readonly namespace: string;
	/** Keys of secrets to synchronize individually. */
	readonly keys: readonly string[];
	/** Synchronizes all secrets together. */
	readonly all: boolean;
	/** Credentials that engines make for the cluster. */
	readonly generators: readonly LeaseRequest[];
}

const STORES = "external-secrets.io/v1";
const GENERATORS = "generators.external-secrets.io/v1alpha1";

/** Interval between two reads of a secret. */
const REFRESH = "5m";

/** Default lifetime of a credential, in the notation of the engines. */
const USUAL_TTL = "2h";

/**
 * Builds the objects, in an order in which they can be applied.
 * @param token reads the secrets and makes the credentials that are named
 * @throws Failure usage when two keys map to one key of a Secret, or a ttl is not understood
 */
export function esoManifest(sync: Sync, token: string): object[] {
	const { realm, environment, keys, all } = sync;
	const base = `${realm}-${environment}`;
	const eso = `${sync.address}/api/v1/eso/${realm}`;
	const query = `?env=${environment}`;
	const labels = { "external-secrets.io/type": "webhook" };
	return [
		{
			apiVersion: "v1",
			kind: "Secret",
			...named(sync, tokenName(sync), { labels }),
			type: "Opaque",
			stringData: { token },
		},
		...(keys.length === 0
			? []
			: [
					store(sync, `svc-${base}`, `${eso}/{{ .remoteRef.key }}${query}`, "$.value"),
					externalSecret(sync, base, { ...storeRef(`svc-${base}`), data: dataOf(keys) }),
				]),
		...(all
			? [
					store(sync, `svc-${base}-all`, `${eso}${query}`, "$.data"),
					externalSecret(sync, `${base}-all`, {
						...storeRef(`svc-${base}-all`),
						dataFrom: [{ extract: { key: "all" } }],
					}),
				]
			: []),
		...sync.generators.flatMap((request) => generator(sync, request)),
	];
}

function named({ namespace }: Sync, name: string, more: object = {}): { metadata: object } {
	return { metadata: { name, namespace, ...more } };
}

function tokenName({ realm, environment }: Sync): string {
	return `svc-${realm}-${environment}-token`;
}

/** The part that all requests of the operator share. */
function request(sync: Sync, url: string, jsonPath: string): object {
	const { certificate } = sync;
	return {
		url,
		headers: { Authorization: "Bearer {{ .svc.token }}", "Content-Type": "application/json" },
		result: { jsonPath },
		timeout: "10s",
		...(certificate === undefined ? {} : { caBundle: Buffer.from(certificate).toString("base64") }),
		secrets: [{ name: "svc", secretRef: { name: tokenName(sync) } }],
	};
}

function store(sync: Sync, name: string, url: string, jsonPath: string): object {
	const webhook = { method: "GET", ...request(sync, url, jsonPath) };
	return { apiVersion: STORES, kind: "SecretStore", ...named(sync, name), spec: { provider: { webhook } } };
}

function storeRef(name: string): object {
	return { secretStoreRef: { kind: "SecretStore", name } };
}

/** The Secret stays when the server no longer sees its sources: an operator that deletes would stop every program that uses it. */
function externalSecret(sync: Sync, name: string, source: object, refreshInterval: string = REFRESH): object {
	const target = { name, deletionPolicy: "Retain" };
	return {
		apiVersion: STORES,
		kind: "ExternalSecret",
		...named(sync, name),
		spec: { refreshInterval, target, ...source },
	};
}

/** A key of a Secret has no slash. */
function dataOf(keys: readonly string[]): object[] {
	const data = keys.map((key) => ({ secretKey: key.replaceAll("/", "."), remoteRef: { key } }));
	if (new Set(data.map(({ secretKey }) => secretKey)).size < data.length)
		throw new Failure("usage", "two of the keys become the same key of a Secret: a / becomes a dot");
	return data;
}

/** The operator revokes nothing: a refresh leaves the previous credential to the end of its ttl, so refreshes come at half the ttl. */
function generator(sync: Sync, { prefix, type, params }: LeaseRequest): object[] {
	const name = `${sync.realm}-${sync.environment}-${prefix}-${String(params.role)}`
		.toLowerCase()
		.replace(/[^a-z0-9-]/g, "-");
	const ttl = String(params.ttl ?? USUAL_TTL);
	const minutes = Math.floor(parseDuration("ttl", ttl) / 2 / 60_000);
	if (minutes < 1) throw new Failure("usage", "the ttl of a --generator must be at least 2m");
	const url = `${sync.address}/api/v1/realms/${sync.realm}/engines/${encodeURIComponent(type)}/generate`;
	const spec = { method: "POST", body: JSON.stringify({ ...params, ttl }), ...request(sync, url, "$") };
	const generatorRef = { apiVersion: GENERATORS, kind: "Webhook", name };
	return [
		{ apiVersion: GENERATORS, kind: "Webhook", ...named(sync, name), spec },
		externalSecret(sync, name, { dataFrom: [{ sourceRef: { generatorRef } }] }, `${minutes}m`),
	];
}
