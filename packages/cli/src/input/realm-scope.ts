import type { Context } from "../command-line/command.ts";
import { option } from "../command-line/command.ts";
import { didYouMean } from "../command-line/nearest.ts";
import { isName } from "../command-line/not-found.ts";
import { Failure } from "../failure.ts";
import { setting } from "../io/io.ts";
import { readProjectFile } from "./project-file.ts";

/** Spec: API › Resources. */
export const ENVIRONMENTS: readonly string[] = ["dev", "staging", "prod", "test"];

/** Options of a command about a realm. */
export interface RealmOptions {
	readonly realm?: string;
}

/** Options of a command about one environment of a realm. */
export interface EnvironmentOptions extends RealmOptions {
	readonly env?: string;
}

/** `--realm`, for a command about a realm. */
export const REALM_OPTION = option(
	"--realm <slug>",
	"realm (else SVC_REALM, else .svc.toml, else that of SVC_MACHINE)",
);

/** `--realm` and `--env`, for a command about one environment of a realm. */
export const ENVIRONMENT_OPTIONS = [
	REALM_OPTION,
	option("--env <name>", "dev, staging, prod or test (else SVC_ENV, else .svc.toml, else dev)").choices(ENVIRONMENTS),
];

/** The realm from --realm, else SVC_REALM, else the nearest `.svc.toml`, else SVC_MACHINE. @throws Failure usage when there is none */
export function realmOf(context: Context<RealmOptions>): string {
	const realm = realmIfAny(context);
	if (realm === undefined) {
		throw new Failure("usage", "no realm is given", {
			hint: "--realm, SVC_REALM or .svc.toml names it, `svc realm list` lists the realms",
		});
	}
	return realm;
}

/** Like `realmOf`, for commands that also work without a realm. @throws Failure usage when a `.svc.toml` is not understood */
export function realmIfAny({ io, options }: Context<RealmOptions>): string | undefined {
	const given = options.realm ?? setting(io, "SVC_REALM") ?? readProjectFile(io).realm;
	return given ?? setting(io, "SVC_MACHINE")?.split("/")[0];
}

/**
 * The environment from --env, else SVC_ENV, else the nearest `.svc.toml`, else the usual one.
 * @throws Failure usage when there is no such environment
 */
export function environmentOf({ io, options }: Context<EnvironmentOptions>, usual = "dev"): string {
	return checkEnvironment(options.env ?? setting(io, "SVC_ENV") ?? readProjectFile(io).env ?? usual);
}

/** Accepts the name of an environment. @throws Failure usage when it is none */
export function checkEnvironment(environment: string): string {
	if (ENVIRONMENTS.includes(environment)) return environment;
	const question = didYouMean(environment, ENVIRONMENTS);
	// A word that resembles no environment may be anything, a secret included.
	const typed = question === undefined || !isName(environment) ? "" : `${environment} is not an environment: `;
	throw new Failure("usage", `${typed}an environment is dev, staging, prod or test`, {
		hint: [question, "--env, SVC_ENV or .svc.toml names it"].filter((part) => part !== undefined).join(" "),
	});
}
