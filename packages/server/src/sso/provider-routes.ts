import * as v from "valibot";
import { publicRoute, type Route, route } from "../http/route.ts";
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
	const path = "/api/v1/auth/providers/{name}";
	const shown = v.object({
		name: v.string(),
		type: v.string(),
		display_name: v.string(),
		config: v.record(v.string(), v.unknown()),
	});
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
		route({
			method: "GET",
			path,
			summary: "A provider's settings, secrets masked",
			status: 200,
			answer: shown,
			errors: ["not_found"],
			handle: ({ actor, params }) => getProvider(needs, actor, params.name),
		}),
		route({
			method: "PUT",
			path,
			summary: "Create or replace a provider",
			body: SetProvider,
			status: 200,
			answer: shown,
			handle: ({ actor, params, body }) => setProvider(needs, actor, params.name, body),
		}),
		route({
			method: "DELETE",
			path,
			summary: "Remove a provider; its users keep their accounts",
			status: 200,
			answer: v.object({ message: v.string() }),
			errors: ["not_found"],
			async handle({ actor, params }) {
				await removeProvider(needs, actor, params.name);
				return { message: "provider removed" };
			},
		}),
		route({
			method: "POST",
			path: `${path}/test`,
			summary: "Test a provider",
			status: 200,
			answer: v.object({ status: v.picklist(["healthy", "unhealthy"]), message: v.string() }),
			errors: ["not_found"],
			handle: ({ actor, params }) => testProvider(needs, actor, params.name),
		}),
	];
}
