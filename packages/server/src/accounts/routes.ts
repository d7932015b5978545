import * as v from "valibot";
import { publicRoute, type Route, route } from "../http/route.ts";
import { Count, Environment, Instant, Uuid } from "../messages.ts";
import { PaginationSchema, pageQuery } from "../pagination.ts";
import type { Actor } from "../policy/model.ts";
import { IdentitySchema, shownIdentity } from "../sso/model.ts";
import { type AccountNeeds, changePassword, getUser, listUsers, logout } from "./accounts.ts";
import { setLimits } from "./limits.ts";
import { login, type PasswordLoginNeeds } from "./login.ts";
import { type Account, ChangePassword, Login, Register, SetAdmin, SetLimits } from "./model.ts";
import { type RegistrationNeeds, register } from "./registration.ts";
import { ownSessionRoutes, sessionsOfRoutes } from "./session-routes.ts";
import { setAdmin, setDisabled } from "./status.ts";

const MessageSchema = v.object({ message: v.string() });

const ProfileSchema = v.object({ id: Uuid, email: v.string(), name: v.string() });

/** Roles of the invitation that its maker may not give any more: only there, and only then, so that a caller by the specification never meets it. */
const LeftOutSchema = v.array(v.object({ realm: v.string(), role: v.string() }));

/** Dependencies of these routes, beyond those of the rules. */
export interface AccountRouteNeeds extends AccountNeeds, RegistrationNeeds {
	store: AccountNeeds["store"] & RegistrationNeeds["store"] & PasswordLoginNeeds["store"];
	system: AccountNeeds["system"];
	keyring: AccountNeeds["keyring"] & RegistrationNeeds["keyring"] & PasswordLoginNeeds["keyring"];
	passwords: AccountNeeds["passwords"];
	throttle: AccountNeeds["throttle"];
	/** Finds the owner of a bare Authorization header, for registration by the instance admin only. */
	identify(authorization: string | undefined, request_id: string, ip: string): Promise<Actor>;
}

/** Spec: API › Accounts and login. Design: §7.1. */
export function accountRoutes(needs: AccountRouteNeeds): Route[] {
	return [
		...visitorRoutes(needs),
		...ownSessionRoutes(needs),
		...sessionRoutes(needs),
		...userRoutes(needs),
		...sessionsOfRoutes(needs),
	];
}

function visitorRoutes(needs: AccountRouteNeeds): Route[] {
	return [
		publicRoute({
			method: "POST",
			path: "/api/v1/auth/register",
			summary: "Register an account",
			body: Register,
			status: 201,
			answer: v.object({ ...ProfileSchema.entries, created_at: Instant, left_out: v.optional(LeftOutSchema) }),
			errors: [
				...([
					"password_too_short",
					"unauthorized",
					"registration_disabled",
					"registration_admin_only",
					"limit_reached",
				] as const),
				...(["invalid_credentials", "conflict", "rate_limited"] as const),
			],
			async handle({ body, authorization, request_id, ip }) {
				const isAsked =
					needs.registration.mode === "admin" && authorization !== undefined && body.invitation === undefined;
				const registrar = isAsked ? await needs.identify(authorization, request_id, ip) : undefined;
				return register(needs, { request_id, ip }, body, registrar);
			},
		}),
		publicRoute({
			method: "POST",
			path: "/api/v1/auth/login",
			summary: "Sign in with e-mail and password, and a code where the account has a second factor",
			body: Login,
			status: 200,
			answer: v.object({ token: v.string(), expires_at: Count, user: ProfileSchema }),
			errors: ["invalid_credentials", "second_factor_required", "rate_limited"],
			handle: ({ body, request_id, ip }) => login(needs, { request_id, ip }, body),
		}),
	];
}

const CallerSchema = v.object({
	...ProfileSchema.entries,
	instance_admin: v.boolean(),
	scopes: v.string(),
	token_id: v.nullable(Uuid),
	realm_id: v.nullable(Uuid),
	environment: v.nullable(Environment),
	engines: v.nullable(v.array(v.string())),
	expires_at: v.nullable(Instant),
	machine: v.optional(v.string()),
});

/** Shows whose session or API token a request has, and how far it reaches. Design: §15 */
function whoamiRoute(): Route {
	return route({
		method: "GET",
		path: "/api/v1/auth/whoami",
		summary: "The caller: an account or a machine, and the reach of its session or API token",
		status: 200,
		answer: CallerSchema,
		forMachines: true,
		forNewFactor: true,
		errors: [],
		async handle({ actor: { user_id: id, email, name, instance_admin, scopes, ...actor } }) {
			const { token_id = null, realm_id, environment, engines, expires_at } = actor;
			const reach = { token_id, realm_id, environment, engines: engines && [...engines], expires_at };
			const machine = actor.machine && { machine: actor.machine.name };
			return { id, email, name, instance_admin, scopes: scopes.join(","), ...reach, ...machine };
		},
	});
}

function sessionRoutes(needs: AccountRouteNeeds): Route[] {
	return [
		whoamiRoute(),
		route({
			method: "POST",
			path: "/api/v1/auth/logout",
			forNewFactor: true,
			summary: "End the session",
			status: 200,
			answer: MessageSchema,
			errors: ["unsupported_operation"],
			async handle({ actor }) {
				await logout(needs, actor);
				return { message: "logged out" };
			},
		}),
		route({
			method: "POST",
			path: "/api/v1/auth/password",
			summary: "Change the password and end all other sessions; an account with a second factor gives a code, too",
			body: ChangePassword,
			status: 200,
			answer: MessageSchema,
			errors: ["password_too_short", "unsupported_operation", "wrong_password", "wrong_code", "rate_limited"],
			async handle({ actor, body }) {
				await changePassword(needs, actor, body);
				return { message: "password changed" };
			},
		}),
	];
}

/** Design: §7.1. */
function shownUser({ id, email, name, instance_admin, disabled_at, created_at }: Account) {
	return { id, email, name, instance_admin, disabled: disabled_at !== null, created_at };
}

const UserSchema = v.object({
	...ProfileSchema.entries,
	instance_admin: v.boolean(),
	disabled: v.boolean(),
	created_at: Instant,
});

function adminRoute(needs: AccountRouteNeeds): Route {
	return route({
		method: "PUT",
		path: "/api/v1/users/{id}",
		summary: "Make an account an instance admin, or remove that right",
		body: SetAdmin,
		status: 200,
		answer: UserSchema,
		errors: ["not_found", "conflict", "unsupported_operation"],
		handle: async ({ actor, params, body }) => shownUser(await setAdmin(needs, actor, params.id, body.instance_admin)),
	});
}

function userRoutes(needs: AccountRouteNeeds): Route[] {
	const setting = (verb: "disable" | "enable") =>
		route({
			method: "POST",
			path: `/api/v1/users/{id}/${verb}`,
			summary: `${verb === "disable" ? "Disable" : "Enable"} an account`,
			status: 200,
			answer: MessageSchema,
			errors: ["not_found", ...(verb === "disable" ? (["conflict"] as const) : [])],
			async handle({ actor, params }) {
				await setDisabled(needs, actor, params.id, verb === "disable");
				return { message: `user ${verb}d` };
			},
		});
	return [
		route({
			method: "GET",
			path: "/api/v1/users",
			summary: "All accounts",
			query: v.object(pageQuery()),
			status: 200,
			answer: v.object({ users: v.array(UserSchema), pagination: PaginationSchema }),
			errors: ["invalid_limit", "invalid_cursor"],
			async handle({ actor, query }) {
				const { rows, pagination } = await listUsers(needs, actor, query);
				return { users: rows.map(shownUser), pagination };
			},
		}),
		route({
			method: "GET",
			path: "/api/v1/users/{id}",
			summary: "An account by id or e-mail: its use, its own limits, and the identities that sign in to it",
			status: 200,
			answer: v.object({
				...UserSchema.entries,
				sessions: Count,
				tokens: Count,
				realms: Count,
				limits: LimitsSchema,
				identities: v.array(IdentitySchema),
			}),
			errors: ["not_found", "validation_failed"],
			async handle({ actor, params }) {
				const { sessions, tokens, realms, limits, identities, ...account } = await getUser(needs, actor, params.id);
				const shown = identities.map(shownIdentity);
				return { ...shownUser(account), sessions, tokens, realms, limits, identities: shown };
			},
		}),
		setting("disable"),
		setting("enable"),
		adminRoute(needs),
		limitsRoute(needs),
	];
}

const LimitsSchema = v.object({ realm_bytes: v.nullable(Count), realms: v.nullable(Count) });

function limitsRoute(needs: AccountRouteNeeds): Route {
	return route({
		method: "PUT",
		path: "/api/v1/users/{id}/limits",
		summary: "Set an account's own limits; null or an absent field means the value of the settings",
		body: SetLimits,
		status: 200,
		answer: LimitsSchema,
		errors: ["not_found"],
		handle: ({ actor, params, body }) => setLimits(needs, actor, params.id, body),
	});
}
