import * as v from "valibot";
import { type Route, route } from "../http/route.ts";
import { Environment, Instant, Uuid } from "../messages.ts";
import { MakerFields, makersOf, type NameNeeds } from "../names.ts";
import { PaginationSchema, pageQuery } from "../pagination.ts";
import {
	createMachineToken,
	deleteMachine,
	getMachine,
	listMachines,
	listMachineTokens,
	type MachineNeeds,
	revokeMachineToken,
	setMachine,
} from "./machines.ts";
import { CreateMachineToken, type Machine, type MachineToken, SetMachine } from "./model.ts";

const MACHINES = "/api/v1/realms/{slug}/machines";
const ONE = `${MACHINES}/{name}` as const;

const MachineSchema = v.object({
	id: Uuid,
	name: v.string(),
	role: v.string(),
	scopes: v.string(),
	environment: v.nullable(Environment),
	engines: v.nullable(v.array(v.string())),
	description: v.string(),
	created_by: Uuid,
	created_at: Instant,
});

const NamedMachineSchema = v.object({ ...MachineSchema.entries, ...MakerFields });

function shown({ realm_id: _, engines, ...machine }: Machine) {
	return { ...machine, engines: engines === null ? null : (JSON.parse(engines) as string[]) };
}

const MachineTokenSchema = v.object({
	id: Uuid,
	name: v.string(),
	prefix: v.string(),
	created_by: v.string(),
	created_at: Instant,
	expires_at: Instant,
	last_used_at: v.nullable(Instant),
});

function shownToken({ id, name, prefix, created_by, created_at, expires_at, last_used_at }: MachineToken) {
	return { id, name, prefix, created_by, created_at, expires_at, last_used_at };
}

const NamedTokenSchema = v.object({ ...MachineTokenSchema.entries, ...MakerFields });

const MessageSchema = v.object({ message: v.string() });

/** Design: §15. */
export function machineRoutes(needs: MachineNeeds & NameNeeds): Route[] {
	return [...changeRoutes(needs), ...lookRoutes(needs), ...tokenRoutes(needs)];
}

function changeRoutes(needs: MachineNeeds): Route[] {
	return [
		route({
			method: "PUT",
			path: ONE,
			summary: "Make a machine account of a realm, or change it",
			body: SetMachine,
			status: 200,
			answer: MachineSchema,
			errors: ["invalid_role", "invalid_scope", "invalid_environment", "unsupported_operation", "limit_reached"],
			handle: async ({ actor, params, body }) => shown(await setMachine(needs, actor, params.slug, params.name, body)),
		}),
		route({
			method: "DELETE",
			path: ONE,
			summary: "Delete a machine account and end its tokens",
			status: 200,
			answer: MessageSchema,
			errors: ["not_found", "unsupported_operation"],
			async handle({ actor, params }) {
				await deleteMachine(needs, actor, params.slug, params.name);
				return { message: "machine deleted" };
			},
		}),
	];
}

function lookRoutes(needs: MachineNeeds & NameNeeds): Route[] {
	return [
		route({
			method: "GET",
			path: MACHINES,
			summary: "The machine accounts of a realm",
			query: v.object(pageQuery()),
			status: 200,
			answer: v.object({ machines: v.array(NamedMachineSchema), pagination: PaginationSchema }),
			errors: ["invalid_limit", "invalid_cursor"],
			async handle({ actor, params, query }) {
				const { rows, pagination } = await listMachines(needs, actor, params.slug, query);
				const maker = await makersOf(needs, rows);
				return { machines: rows.map((row) => ({ ...shown(row), ...maker(row) })), pagination };
			},
		}),
		route({
			method: "GET",
			path: ONE,
			summary: "A machine account",
			status: 200,
			answer: NamedMachineSchema,
			errors: ["not_found"],
			async handle({ actor, params }) {
				const machine = await getMachine(needs, actor, params.slug, params.name);
				const maker = await makersOf(needs, [machine]);
				return { ...shown(machine), ...maker(machine) };
			},
		}),
	];
}

function tokenRoutes(needs: MachineNeeds & NameNeeds): Route[] {
	return [
		route({
			method: "POST",
			path: `${ONE}/tokens`,
			summary: "Create a token of a machine account, shown once",
			body: CreateMachineToken,
			status: 201,
			answer: v.object({ token: v.string(), ...MachineTokenSchema.entries }),
			errors: ["not_found", "invalid_ttl", "unsupported_operation", "limit_reached"],
			async handle({ actor, params, body }) {
				const made = await createMachineToken(needs, actor, params, body);
				return { token: made.token, ...shownToken(made) };
			},
		}),
		route({
			method: "GET",
			path: `${ONE}/tokens`,
			summary: "The tokens of a machine account",
			query: v.object(pageQuery()),
			status: 200,
			answer: v.object({ tokens: v.array(NamedTokenSchema), pagination: PaginationSchema }),
			errors: ["not_found", "invalid_limit", "invalid_cursor"],
			async handle({ actor, params, query }) {
				const { rows, pagination } = await listMachineTokens(needs, actor, params, query);
				const maker = await makersOf(needs, rows);
				return { tokens: rows.map((row) => ({ ...shownToken(row), ...maker(row) })), pagination };
			},
		}),
		route({
			method: "DELETE",
			path: `${ONE}/tokens/{id}`,
			summary: "Revoke a token of a machine account",
			status: 200,
			answer: MessageSchema,
			errors: ["not_found", "unsupported_operation"],
			async handle({ actor, params }) {
				await revokeMachineToken(needs, actor, params);
				return { message: "token revoked" };
			},
		}),
	];
}
