import * as v from "valibot";
import { type Route, route } from "../http/route.ts";
import { Count, Instant, RequiredText } from "../messages.ts";
import { getKeys, type KeyNeeds, rotateKey } from "./keys.ts";
import { RotateKey } from "./model.ts";

const KeySchema = v.object({
	id: v.string(),
	purpose: v.string(),
	state: v.picklist(["active", "retired"]),
	created_at: Instant,
});

const MasterSchema = v.object({
	fingerprint: v.string(),
	origin: v.picklist(["credential", "file", "environment"]),
	file: v.string(),
	next: v.string(),
});

/** Design: §5. */
export function keyRoutes(needs: KeyNeeds): Route[] {
	return [
		route({
			method: "GET",
			path: "/api/v1/keys",
			summary: "The master key's fingerprint, and the keys of the instance or of one realm",
			query: v.object({ realm: v.optional(RequiredText) }),
			status: 200,
			answer: v.object({
				master: MasterSchema,
				keys: v.array(KeySchema),
				realm_keys: v.object({ active: Count, retired: Count }),
			}),
			errors: ["not_found", "conflict"],
			async handle({ actor, query }) {
				const { keys, ...status } = await getKeys(needs, actor, query.realm);
				const shown = keys.map(({ id, purpose, state, created_at }) => {
					return { id: id.toString("hex"), purpose, state, created_at };
				});
				return { ...status, keys: shown };
			},
		}),
		route({
			method: "POST",
			path: "/api/v1/keys/rotate",
			summary: "Replace the master key, or the active key of a purpose",
			body: RotateKey,
			status: 200,
			answer: v.object({ id: v.string(), previous: v.string(), message: v.string() }),
			errors: ["not_found", "conflict"],
			handle: ({ actor, body }) => rotateKey(needs, actor, { purpose: body.purpose, realm: body.realm ?? undefined }),
		}),
	];
}
