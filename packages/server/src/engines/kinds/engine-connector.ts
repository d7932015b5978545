import { engineCapabilities, type Fields } from "@svc/protocol";
import * as v from "valibot";
import { AppError } from "../../errors.ts";
import { coreFor } from "../host/failures.ts";
import { EngineUnavailable } from "../host/model.ts";
import { allowedNames } from "./allowed-names.ts";
import {
	type Connector,
	type Credential,
	type IssueRequest,
	type Privilege,
	type Remains,
	TargetError,
} from "./connector.ts";
import type { ConnectNeeds } from "./kind.ts";

/*
 * A target at which the engine itself makes and removes credentials. The core chooses the name, records it, and passes it and the lease's id
 * with the params; an engine that takes no name reports afterwards what it made. packages/protocol/README.md › Leases
 */

/** Differences between engines of this sort. */
export interface EngineWays {
	scopes: readonly string[];
	/** Makes the params that identify the credential to revoke. */
	revokeParams(credential: Remains): Fields;
	/** Reads the name from a new credential's fields. */
	nameIn(data: Fields): unknown;
	/** Tells whether an error of `generate`, besides those common to all engines, proves that nothing was made. */
	madeNothing?(message: string): boolean;
	/** Tells whether an error of `generate` means that the target gave no answer. */
	isUnanswered?(message: string): boolean;
	/** Set for a third party's: its answer need not name the credential, and is kept as a whole for the revocation. */
	isForeign?: true;
}

const NAME_BYTES = 4;

/** Errors with which any engine refuses params. packages/protocol/README.md › Leases */
const PARAMS_REFUSED = /^(?:unknown role|invalid (?:ttl|params)|parsing params|ttl )/;

const Shown = v.pipe(v.string(), v.maxLength(500));

/** An engine's report of its rights. packages/protocol/README.md › Privileges */
const Privileges = v.pipe(
	v.array(
		v.object({
			name: Shown,
			status: v.picklist(["granted", "missing", "doubtful"]),
			message: Shown,
			hint: Shown,
		}),
	),
	v.maxLength(1000),
);

/** Makes the connector of an engine that does the work itself. Spec: ENGINES › containerorch operations. Design: §9 */
export function createEngineConnector(needs: ConnectNeeds, ways: EngineWays): Omit<Connector, "readRevoke"> {
	const { descriptor, system, call, fields } = needs;
	const capabilities = engineCapabilities(descriptor);

	async function list(scope: string): Promise<string[] | undefined> {
		if (!capabilities.includes("list")) return undefined;
		const answer = await call("list", { namespace: scope });
		if ("error" in answer) throw errorOf(answer.error);
		const { names } = answer.data;
		return Array.isArray(names) ? names.filter((name) => typeof name === "string") : undefined;
	}

	return {
		scopes: ways.scopes,
		list,
		async ping() {
			const answer = await call("ping", {});
			if ("error" in answer) throw errorOf(answer.error, true);
		},
		async prepare(request) {
			const isNamed = capabilities.includes("lease_hint");
			const name = isNamed ? `svc-${system.randomBytes(NAME_BYTES).toString("hex")}` : "";
			return { name, fence: "", create: (lease_id) => create(needs, ways, request, { id: lease_id, name }) };
		},
		async remove(credential) {
			const { name, payload } = credential;
			if (name === "" && payload === undefined) {
				const message = "the engine did not report what it made: check the target, then run `svc lease abandon`";
				throw new TargetError("rejected", message);
			}
			const params = { ...payload, ...ways.revokeParams(credential) };
			const answer = await call("validate", params, coreFor(credential.realm_id));
			// An error of our own engine without a status means that the target gave none.
			if ("error" in answer && statusIn(answer.error) !== "404") throw errorOf(answer.error, ways.isForeign === true);
		},
		exists: async ({ name, scope }) => (await list(scope))?.includes(name),
		async privileges(): Promise<Privilege[]> {
			if (!capabilities.includes("privileges")) return [];
			const answer = await call("privileges", { places: allowedNames(fields, "allowed_namespaces") });
			if ("error" in answer) throw errorOf(answer.error);
			const { success, output } = v.safeParse(Privileges, answer.data.privileges);
			if (!success) throw new EngineUnavailable("its privileges do not follow the contract", false);
			return output;
		},
	};
}

async function create(
	{ call, descriptor, system }: ConnectNeeds,
	ways: EngineWays,
	{ params, with_connection, ttl_ms, realm_id, payer }: IssueRequest,
	lease: { id: string; name: string },
): Promise<Credential> {
	const own = { _lease: lease, ...(with_connection ? { _connection: true } : {}) };
	const answer = await call("generate", { ...params, ...own }, realm_id, payer);
	if ("error" in answer) {
		const made_nothing = PARAMS_REFUSED.test(answer.error) || ways.madeNothing?.(answer.error) === true;
		const kind = ways.isUnanswered?.(answer.error) ? "unreachable" : "rejected";
		throw new TargetError(kind, answer.error, { made_nothing });
	}
	const { data } = answer;
	const now_ms = system.now().getTime();
	const { expires_at = new Date(now_ms + ttl_ms).toISOString() } = data;
	const said = ways.nameIn(data);
	const isIt = typeof said === "string" ? lease.name === "" || said === lease.name : ways.isForeign === true;
	if (!isIt || typeof expires_at !== "string" || Number.isNaN(Date.parse(expires_at))) {
		throw new AppError("engine_unavailable", `engine ${descriptor.name} did not return a credential of that name`);
	}
	return {
		data,
		name: lease.name || (typeof said === "string" ? said : ""),
		expires_at,
		lives_ms: Math.max(0, Date.parse(expires_at) - now_ms),
		...(ways.isForeign ? { payload: data } : {}),
	};
}

/** Reads the target's failure from an engine's error, which may name a status. Spec: ENGINES › Errors. packages/protocol/README.md › Leases */
function errorOf(message: string, is_answer = false): TargetError {
	const status = statusIn(message);
	if (status === "401" || status === "403") return new TargetError("denied", message, { is_answer });
	return new TargetError(status === undefined ? "unreachable" : "rejected", message, { is_answer });
}

function statusIn(message: string): string | undefined {
	return /\bstatus (\d{3})\b/.exec(message)?.[1];
}
