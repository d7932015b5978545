import * as v from "valibot";
import { AppError } from "../errors.ts";
import { type Route, route } from "../http/route.ts";
import { Environment } from "../messages.ts";
import { syncSecrets } from "../secrets/lists.ts";
import { type BulkNeeds, getSecret } from "../secrets/secrets.ts";
import { jsonMember, streamItems } from "../streamed.ts";

/** The default environment of these routes. Spec: API › Operator-sync endpoints. */
const query = v.object({ env: v.optional(Environment, "prod") });

/**
 * Routes for a cluster's operator, which deletes the cluster's secret on a 404: so 404 means only that there is no such
 * secret, and an error of our own is always 503.
 * Spec: API › Operator-sync endpoints. Design: §7.
 */
export function operatorSyncRoutes(needs: BulkNeeds & { isComplete(): Promise<boolean> }): Route[] {
	return [
		route({
			method: "GET",
			path: "/api/v1/eso/{realm}/{key}",
			summary: "A secret's value, for an operator",
			query,
			forMachines: true,
			status: 200,
			answer: v.object({ value: v.string() }),
			headers: ["X-Secret-Expired"],
			errors: ["invalid_environment", "not_found", "unhealthy"],
			notFound: { error: "secret not found" },
			isBrief: true,
			async handle({ actor, params, query, headers }) {
				await requireComplete(needs);
				const name = { slug: params.realm, environment: query.env, key: params.key };
				const secret = await getSecret(needs, actor, name, "eso").catch(neverInternal);
				if (secret.is_expired) headers["x-secret-expired"] = "true";
				return { value: secret.value };
			},
		}),
		route({
			method: "GET",
			path: "/api/v1/eso/{realm}",
			summary: "All values of an environment, for an operator",
			query,
			forMachines: true,
			status: 200,
			answer: v.object({ data: v.record(v.string(), v.string()) }),
			errors: ["invalid_environment", "not_found", "unhealthy", "rate_limited"],
			async handle({ actor, params, query }) {
				await requireComplete(needs);
				const { groups, held } = await syncSecrets(needs, actor, params.realm, query.env).catch(neverInternal);
				return streamItems({ before: '{"data":{', groups: guarded(groups), write: jsonMember, after: "}}", held });
			},
		}),
	];
}

/** Refuses while a secret may be missing because another program took its row away. */
async function requireComplete({ isComplete }: { isComplete(): Promise<boolean> }): Promise<void> {
	if (await isComplete()) return;
	throw new AppError("unhealthy", "another program may have taken secrets away: see the server's log");
}

async function* guarded<Group>(groups: AsyncIterable<Group>): AsyncGenerator<Group> {
	try {
		yield* groups;
	} catch (error) {
		neverInternal(error);
	}
}

function neverInternal(error: unknown): never {
	if (error instanceof AppError && error.status !== 500) throw error;
	throw new AppError("unhealthy", "the secrets cannot be read now: see the server's log", { cause: error });
}
