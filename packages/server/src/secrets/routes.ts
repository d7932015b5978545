import * as v from "valibot";
import { type Route, route } from "../http/route.ts";
import { Count, Deleted, Environment, errorMessage, Instant, Uuid } from "../messages.ts";
import { DeleterFields, NameFields, type NameNeeds, namesOf, prefixed, WithNames } from "../names.ts";
import { PaginationSchema, pageQuery } from "../pagination.ts";
import { jsonObject, streamItems } from "../streamed.ts";
import { deleteSecret, listDeletedSecrets, purgeSecret, type RewriteNeeds, restoreSecret } from "./deletion.ts";
import { diffSecrets } from "./diff.ts";
import { listSecrets } from "./lists.ts";
import { Diff, Encrypt, Promote, Restore, Rollback, SetSecret } from "./model.ts";
import { type PromotionNeeds, promoteSecrets } from "./promotion.ts";
import { type BulkNeeds, encrypt, getSecret, listVersions, rollbackSecret, setSecret } from "./secrets.ts";

/** The default environment of these routes. Spec: API › Secrets and encryption. */
const env = v.optional(Environment, "dev");

const Version = v.pipe(
	v.string(),
	v.metadata({ type: "integer", minimum: 1, maximum: 999_999_999_999_999 }),
	v.regex(/^[1-9][0-9]{0,14}$/, errorMessage("validation_failed", "version must be a whole number from 1")),
	v.transform(Number),
);

const ValueSchema = v.object({
	key: v.string(),
	value: v.string(),
	environment: Environment,
	version: Count,
	updated_at: Instant,
});

/** A secret of the list; `expires_at` takes the place of the value, and the fields after that are those of a deleted one. */
const ListedSchema = v.object({
	...ValueSchema.entries,
	value: v.optional(v.string()),
	expires_at: v.optional(v.nullable(Instant)),
	id: v.optional(Uuid),
	deleted_by: v.optional(v.string()),
	...DeleterFields,
	deleted_at: v.optional(Instant),
	purge_at: v.optional(Instant),
});

/** Not in the specification: `false` asks for the names only. Nothing is opened then. */
const WithValues = v.optional(
	v.picklist(["true", "false"], errorMessage("validation_failed", "values must be true or false")),
	"true",
);

/** Not in the specification: `true` leaves nothing to restore. */
const Purge = v.optional(
	v.picklist(["true", "false"], errorMessage("validation_failed", "purge must be true or false")),
	"false",
);

const WrittenSchema = v.object({
	key: v.string(),
	environment: Environment,
	version: Count,
	created_at: Instant,
	updated_at: Instant,
});

const ONE = "/api/v1/realms/{slug}/secrets/{key}";

/** Spec: API › Secrets and encryption. */
export function secretRoutes(needs: PromotionNeeds & RewriteNeeds & BulkNeeds & NameNeeds): Route[] {
	return [...writing(needs), ...reading(needs), ...versions(needs), ...promotion(needs)];
}

function writing(needs: RewriteNeeds): Route[] {
	return [
		route({
			method: "POST",
			path: "/api/v1/realms/{slug}/secrets",
			summary: "Create a secret or its next version",
			forMachines: true,
			body: SetSecret,
			status: 201,
			answer: WrittenSchema,
			errors: ["invalid_environment", "invalid_ciphertext", "not_found", "conflict", "limit_reached"],
			isBrief: true,
			handle: ({ actor, params, body }) => setSecret(needs, actor, params.slug, body),
		}),
		route({
			method: "DELETE",
			path: ONE,
			summary: "Delete a secret and its history; it can be restored for 30 days",
			forMachines: true,
			query: v.object({ env, purge: Purge }),
			status: 200,
			answer: v.object({ message: v.string() }),
			errors: ["invalid_environment", "not_found", "unsupported_operation", "rate_limited"],
			async handle({ actor, params, query }) {
				const remove = query.purge === "true" ? purgeSecret : deleteSecret;
				await remove(needs, actor, { slug: params.slug, environment: query.env, key: params.key });
				return { message: "secret deleted" };
			},
		}),
		route({
			method: "POST",
			path: `${ONE}/restore`,
			summary: "Bring a deleted secret back with its history, numbered from the next version on",
			forMachines: true,
			query: v.object({ env }),
			body: Restore,
			status: 200,
			answer: WrittenSchema,
			errors: ["invalid_environment", "not_found", "conflict", "rate_limited"],
			handle({ actor, params, query, body }) {
				const name = { slug: params.slug, environment: query.env, key: params.key };
				return restoreSecret(needs, actor, name, body.id);
			},
		}),
		route({
			method: "POST",
			path: "/api/v1/encrypt",
			summary: "Encrypt a text so that you can store it anywhere",
			forMachines: true,
			body: Encrypt,
			status: 200,
			answer: v.object({ ciphertext: v.string() }),
			isBrief: true,
			handle: async ({ actor, body }) => ({ ciphertext: await encrypt(needs, actor, body.value) }),
		}),
	];
}

function reading(needs: BulkNeeds & NameNeeds): Route[] {
	return [
		route({
			method: "GET",
			path: "/api/v1/realms/{slug}/secrets",
			summary: "The secrets of a realm, with their values unless `values` is false; or those that can be restored",
			forMachines: true,
			query: v.object({ env: v.optional(Environment), values: WithValues, deleted: Deleted, ...pageQuery() }),
			status: 200,
			answer: v.object({ secrets: v.array(ListedSchema), pagination: PaginationSchema }),
			errors: ["invalid_environment", "invalid_limit", "invalid_cursor", "not_found", "rate_limited"],
			async handle({ actor, params, query }) {
				if (query.deleted === "true") {
					const { rows, pagination } = await listDeletedSecrets(needs, actor, params.slug, query.env, query);
					return { secrets: await named(needs, rows), pagination };
				}
				const wanted = { asked: query.env, withValues: query.values === "true" };
				const { groups, pagination } = await listSecrets(needs, actor, params.slug, wanted, query);
				const after = `],"pagination":${JSON.stringify(pagination)}}`;
				return streamItems({ before: '{"secrets":[', groups, write: jsonObject, after });
			},
		}),
		route({
			method: "GET",
			path: ONE,
			summary: "A secret, or one of its versions",
			forMachines: true,
			query: v.object({ env, version: v.optional(Version) }),
			status: 200,
			answer: ValueSchema,
			headers: ["X-Secret-Expired"],
			errors: ["invalid_environment", "not_found"],
			isBrief: true,
			async handle({ actor, params, query, headers }) {
				const name = { slug: params.slug, environment: query.env, key: params.key };
				const { is_expired, ...secret } = await getSecret(needs, actor, name, "api", query.version);
				if (is_expired) headers["x-secret-expired"] = "true";
				return secret;
			},
		}),
	];
}

/** Adds the names of those who deleted the secrets. */
async function named(needs: NameNeeds, rows: Awaited<ReturnType<typeof listDeletedSecrets>>["rows"]) {
	const names = await namesOf(
		needs,
		rows.map(({ deleted_by }) => deleted_by),
	);
	return rows.map((row) => ({
		...row,
		...prefixed("deleted_by", names.get(row.deleted_by)),
		updated_at: row.deleted_at,
	}));
}

const VersionSchema = v.object({
	version: Count,
	created_at: Instant,
	created_by: v.string(),
	comment: v.string(),
	expires_at: v.nullable(Instant),
	...NameFields,
});

function versions(needs: RewriteNeeds & NameNeeds): Route[] {
	return [
		route({
			method: "GET",
			path: `${ONE}/versions`,
			summary: "The versions of a secret, newest first",
			forMachines: true,
			query: v.object({ env, names: WithNames, ...pageQuery() }),
			status: 200,
			answer: v.object({ versions: v.array(VersionSchema), pagination: PaginationSchema }),
			errors: ["invalid_environment", "invalid_limit", "invalid_cursor", "not_found"],
			async handle({ actor, params, query }) {
				const name = { slug: params.slug, environment: query.env, key: params.key };
				const { rows, pagination } = await listVersions(needs, actor, name, query);
				const names = await namesOf(needs, query.names === "true" ? rows.map(({ created_by }) => created_by) : []);
				return { versions: rows.map((row) => ({ ...row, ...names.get(row.created_by) })), pagination };
			},
		}),
		route({
			method: "POST",
			path: `${ONE}/rollback`,
			summary: "Write the value of an earlier version as a new version",
			forMachines: true,
			query: v.object({ env }),
			body: Rollback,
			status: 201,
			answer: WrittenSchema,
			errors: ["invalid_environment", "not_found", "limit_reached", "rate_limited"],
			handle({ actor, params, query, body }) {
				const name = { slug: params.slug, environment: query.env, key: params.key };
				return rollbackSecret(needs, actor, name, body.version);
			},
		}),
	];
}

const DifferenceSchema = v.object({
	key: v.string(),
	status: v.picklist(["only_in_from", "only_in_to", "different", "equal"]),
	from_version: v.nullable(Count),
	to_version: v.nullable(Count),
	from_expires_at: v.nullable(Instant),
	to_expires_at: v.nullable(Instant),
});

function promotion(needs: PromotionNeeds & BulkNeeds): Route[] {
	return [
		route({
			method: "GET",
			path: "/api/v1/realms/{slug}/diff",
			summary: "Differences between two environments, without values",
			forMachines: true,
			query: Diff,
			status: 200,
			answer: v.object({ secrets: v.array(DifferenceSchema) }),
			errors: ["invalid_environment", "not_found", "rate_limited"],
			async handle({ actor, params, query }) {
				const { groups, held } = await diffSecrets(needs, actor, params.slug, query);
				return streamItems({ before: '{"secrets":[', groups, write: jsonObject, after: "]}", held });
			},
		}),
		route({
			method: "POST",
			path: "/api/v1/realms/{slug}/promote",
			summary: "Copy secrets from one environment to another: all of them or, if a version is not the given one, none",
			forMachines: true,
			body: Promote,
			status: 200,
			answer: v.object({ secrets: v.array(WrittenSchema) }),
			errors: ["invalid_environment", "not_found", "conflict", "limit_reached", "rate_limited"],
			handle: async ({ actor, params, body }) => ({
				secrets: await promoteSecrets(needs, actor, params.slug, body),
			}),
		}),
	];
}
