import { eventBy } from "../audit/model.ts";
import type { Environment } from "../messages.ts";
import { authorize } from "../policy/authorize.ts";
import type { Actor } from "../policy/model.ts";
import type { Difference, SecretVersion } from "./model.ts";
import type { BulkNeeds, SecretNeeds } from "./secrets.ts";
import { appendBulk, readVersions, secretIds, unpackPairs, type VersionPair } from "./snapshot.ts";
import { openValue } from "./value.ts";

/**
 * Compares two environments at one moment, key by key, by the values that a reader sees. No value leaves; one event for all of them is written
 * before any value is read.
 * @returns the differences in order of their keys, one at a time, and the bytes that hold their names
 * @throws AppError not_found, forbidden, insufficient_scope; overloaded midway, when a secret has gone meanwhile
 * Design: §7.1
 */
export async function diffSecrets(
	needs: BulkNeeds,
	actor: Actor,
	slug: string,
	{ from, to }: { from: Environment; to: Environment },
): Promise<{ groups: AsyncIterable<Difference[]>; held: number }> {
	const realm = await authorize(needs, actor, slug, { capability: "secrets:read", environment: from });
	await authorize(needs, actor, slug, { capability: "secrets:read", environment: to });
	const now = needs.system.now();
	const expired_by = needs.enforce_expiry ? now.toISOString() : "";
	const read = async () => needs.store.secrets.pairs(realm.id, from, to, expired_by);
	const pairs = await needs.whole_reads.run(read, actor);
	const facts = { environment: from, to_environment: to, count: pairs.length / 6 };
	await appendBulk(needs, eventBy(actor, now, "secret.diff", realm, facts), secretIds(pairs));
	return { groups: compareAll(needs, unpackPairs(pairs)), held: pairs.byteLength };
}

async function* compareAll(needs: SecretNeeds, pairs: Iterable<VersionPair>): AsyncGenerator<Difference[]> {
	for (const pair of pairs) {
		const there = [pair.from, pair.to].filter((ref) => ref !== undefined);
		const rows: SecretVersion[] = [];
		for await (const group of readVersions(needs, there)) rows.push(...group);
		const from = pair.from && rows[0];
		const to = pair.to && rows.at(-1);
		yield [await compare(needs, from, to)];
	}
}

async function compare(
	needs: SecretNeeds,
	from: SecretVersion | undefined,
	to: SecretVersion | undefined,
): Promise<Difference> {
	return {
		key: from?.key ?? to?.key ?? "",
		status: await statusOf(needs, from, to),
		from_version: from?.version ?? null,
		to_version: to?.version ?? null,
		from_expires_at: from?.expires_at ?? null,
		to_expires_at: to?.expires_at ?? null,
	};
}

async function statusOf(
	needs: SecretNeeds,
	from: SecretVersion | undefined,
	to: SecretVersion | undefined,
): Promise<Difference["status"]> {
	if (to === undefined) return "only_in_from";
	if (from === undefined) return "only_in_to";
	return (await openValue(needs, from)) === (await openValue(needs, to)) ? "equal" : "different";
}
