import type { Context } from "./command.ts";
import { option } from "./command.ts";
import { Failure } from "./failure.ts";
import { setting } from "./io.ts";

/** Spec: API › Resources. */
const ENVIRONMENTS = ["dev", "staging", "prod", "test"];

/** Options of a command about a realm. */
export interface RealmOptions {
	readonly realm?: string;
}

/** Options of a command about one environment of a realm. */
export interface EnvironmentOptions extends RealmOptions {
	readonly env?: string;
}

/** `--realm`, for a command about a realm. */
export const REALM_OPTION = option("--realm <slug>", "realm (else SVC_REALM)");

/** `--realm` and `--env`, for a command about one environment of a realm. */
export const ENVIRONMENT_OPTIONS = [
	REALM_OPTION,
	option("--env <name>", "dev, staging, prod or test (else SVC_ENV, else dev)"),
];

/** The realm of --realm, else of SVC_REALM. @throws Failure usage when there is none */
export function realmOf({ io, options }: Context<RealmOptions>): string {
	const realm = options.realm ?? setting(io, "SVC_REALM");
	if (realm === undefined) {
		throw new Failure("usage", "no realm is given", {
			hint: "--realm or SVC_REALM names it, `svc realm list` shows what there is",
		});
	}
	return realm;
}

/** The environment of --env, else of SVC_ENV, else dev. @throws Failure usage when there is no such environment */
export function environmentOf({ io, options }: Context<EnvironmentOptions>): string {
	const environment = options.env ?? setting(io, "SVC_ENV") ?? "dev";
	if (!ENVIRONMENTS.includes(environment))
		throw new Failure("usage", "--env and SVC_ENV take dev, staging, prod or test");
	return environment;
}
