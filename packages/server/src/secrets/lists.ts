import { keySetOf } from "../audit/key-parts.ts";
import { eventBy } from "../audit/model.ts";
import type { Environment } from "../messages.ts";
import { type PageRequest, type Pagination, readPage } from "../pagination.ts";
import { authorize } from "../policy/authorize.ts";
import type { Actor } from "../policy/model.ts";
import type { ListedVersion, SecretVersion } from "./model.ts";
import { type BulkNeeds, isExpired, type SecretNeeds, type SecretValue } from "./secrets.ts";
import { appendBulk, readVersions, secretIds, unpack } from "./snapshot.ts";
import { openValue } from "./value.ts";

/** A secret in a list: with its value, or with its end when no values were requested. */
type ListedSecret = Omit<SecretValue, "is_expired" | "value"> & { value?: string; expires_at?: string | null };

/**
 * Reads one page of a realm's secrets, of one environment or all. One event for the page is written before any value is read; it says if no values
 * were requested.
 * @returns the secrets, a few at a time
 * @throws AppError not_found, forbidden, insufficient_scope; overloaded midway, when one has gone meanwhile
 * Spec: API › Secrets and encryption. Design: §13
 */
export async function listSecrets(
	needs: BulkNeeds,
	actor: Actor,
	slug: string,
	{ asked, withValues }: { asked: Environment | undefined; withValues: boolean },
	page: PageRequest,
): Promise<{ groups: AsyncIterable<ListedSecret[]>; pagination: Pagination }> {
	const environment = asked ?? (actor.environment as Environment | null) ?? undefined;
	const realm = await authorize(needs, actor, slug, { capability: "secrets:read", environment });
	const inTurn = <T>(read: () => Promise<T>) => needs.whole_reads.run(read, actor);
	const { rows, pagination } = await readPage(needs.keyring.cursorKey(), page, {
		list: `secrets ${realm.id} ${environment ?? ""}`,
		read: (after, limit) => inTurn(async () => needs.store.secrets.list(realm.id, environment, after ?? "", limit)),
		position: (row) => row.position,
		count: () => inTurn(() => needs.store.secrets.count(realm.id, environment)),
	});
	const now = needs.system.now();
	const live = needs.enforce_expiry ? rows.filter((row) => !isExpired(row, now)) : rows;
	const facts = { environment: environment ?? "", count: live.length, ...(withValues ? {} : { values: false }) };
	const event = eventBy(actor, now, "secret.list", realm, facts);
	if (withValues) {
		const ids = Float64Array.from(live, ({ secret_id }) => secret_id);
		await needs.bulk_reads.append(event, ids, () => keySetOf(live.map(({ key }) => key)));
		return { groups: reveal(needs, readVersions(needs, live)), pagination };
	}
	await needs.store.audit.append(event);
	const named = async function* () {
		yield live.map(({ key, environment, version, created_at, expires_at }) => {
			return { key, environment, version, updated_at: created_at, expires_at };
		});
	};
	return { groups: named(), pagination };
}

function describe({
	key,
	environment,
	version,
	created_at,
}: Pick<ListedVersion, "key" | "environment" | "version" | "created_at">) {
	return { key, environment, version, updated_at: created_at };
}

async function* reveal(needs: SecretNeeds, groups: AsyncIterable<SecretVersion[]>): AsyncGenerator<ListedSecret[]> {
	for await (const rows of groups) {
		const secrets: ListedSecret[] = [];
		for (const row of rows) {
			const { key, ...rest } = describe(row);
			secrets.push({ key, value: await openValue(needs, row), ...rest });
		}
		yield secrets;
	}
}

/**
 * Reads every secret of an environment, for a cluster's operator, which deletes any that are missing: the answer is one consistent state of all, or it
 * breaks off. Its event is written before any value is read.
 * @returns keys and values, a few at a time, and the bytes that hold their names
 * @throws AppError not_found, forbidden, insufficient_scope; overloaded midway, when one has gone meanwhile
 * Spec: API › Operator-sync endpoints. Design: §13
 */
export async function syncSecrets(
	needs: BulkNeeds,
	actor: Actor,
	slug: string,
	environment: Environment,
): Promise<{ groups: AsyncIterable<[key: string, value: string][]>; held: number }> {
	const realm = await authorize(needs, actor, slug, { capability: "secrets:read", environment });
	const now = needs.system.now();
	const expired_by = needs.enforce_expiry ? now.toISOString() : "";
	const read = async () => needs.store.secrets.currentVersions(realm.id, environment, expired_by);
	const snapshot = await needs.whole_reads.run(read, actor);
	const facts = { environment, count: snapshot.length / 3, via: "eso" };
	await appendBulk(needs, eventBy(actor, now, "secret.sync", realm, facts), secretIds(snapshot));
	return { groups: open(needs, readVersions(needs, unpack(snapshot))), held: snapshot.byteLength };
}

async function* open(needs: SecretNeeds, groups: AsyncIterable<SecretVersion[]>): AsyncGenerator<[string, string][]> {
	for await (const rows of groups) {
		const values: [string, string][] = [];
		for (const row of rows) values.push([row.key, await openValue(needs, row)]);
		yield values;
	}
}
