import * as v from "valibot";
import { publicRoute, type Route, route } from "../http/route.ts";
import { IfHealthy } from "../messages.ts";
import {
	getProvider,
	listProviders,
	type ProviderNeeds,
	removeProvider,
	setProvider,
	testProvider,
} from "./providers.ts";
import { SetProvider } from "./settings.ts";

/** Design: §7.1. Spec: API › Accounts and login. */
export function providerRoutes(needs: ProviderNeeds): Route[] {
	return [
		publicRoute({
			method: "GET",
			path: "/api/v1/auth/providers",
			summary: "The single sign-on providers",
			status: 200,
			answer: v.object({
				providers: v.array(v.object({ name: v.string(), type: v.string(), display_name: v.string() })),
			}),
			handle: async () => ({ providers: await listProviders(needs) }),
		}),
		...settingRoutes(needs),
		route({
			method: "POST",
			path: `${PROVIDER}/test`,
			summary: "Test a provider",
			status: 200,
			answer: v.object({ status: v.picklist(["healthy", "unhealthy"]), message: v.string() }),
			errors: ["not_found"],
			handle: ({ actor, params }) => testProvider(needs, actor, params.name),
		}),
	];
}

const PROVIDER = "/api/v1/auth/providers/{name}";

const ShownSchema = v.object({
	name: v.string(),
	type: v.string(),
	display_name: v.string(),
	config: v.record(v.string(), v.unknown()),
});

function settingRoutes(needs: ProviderNeeds): Route[] {
	return [
		route({
			method: "GET",
			path: PROVIDER,
			summary: "A provider's settings, secrets masked",
			status: 200,
			answer: ShownSchema,
			errors: ["not_found"],
			handle: ({ actor, params }) => getProvider(needs, actor, params.name),
		}),
		route({
			method: "PUT",
			path: PROVIDER,
			summary: "Create or replace a provider",
			query: IfHealthy,
			body: SetProvider,
			status: 200,
			answer: ShownSchema,
			errors: ["conflict"],
			handle: ({ actor, params, query, body }) => setProvider(needs, actor, params.name, body, query.if === "healthy"),
		}),
		route({
			method: "DELETE",
			path: PROVIDER,
			summary: "Remove a provider; its users keep their accounts",
			status: 200,
			answer: v.object({ message: v.string() }),
			errors: ["not_found"],
			async handle({ actor, params }) {
				await removeProvider(needs, actor, params.name);
				return { message: "provider removed" };
			},
		}),
	];
}
