import { EngineError, type Fields, isObject } from "@svc/plugin-sdk";
import { accountObject, accountsPath, bindingName, bindingObject, bindingsPath, tokenRequest } from "./objects.ts";
import { CallError, type Orchestrator } from "./orchestrator.ts";
import type { CredentialParams } from "./params.ts";
import descriptor from "./plugin.json" with { type: "json" };

/** Spec: ENGINES › Container orchestrator engine configuration */
export type Credential = {
	token: string;
	namespace: string;
	service_account: string;
	role_binding: string;
	cluster_role: string;
	/** In the API server's format. */
	expires_at: string;
};

/** An object that a request has made, or may have made. */
interface Made {
	kind: "service account" | "role binding";
	path: string;
}

/** Milliseconds for deleting bindings again, once the account is gone. */
const SECOND_TRY_MS = 2000;

/** Characters allowed in a header; an API server's own tokens have about a thousand. */
const TOKEN = /^[\x21-\x7e]{1,16384}$/;
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;

/**
 * Creates a service account, binds it to the cluster role, and requests a token. If a later step fails, the objects made so far are deleted.
 * @throws EngineError `creating service account: …`, `creating role binding: …` or `requesting token: …`, then the objects that remain
 * Spec: ENGINES › containerorch operations, Errors
 */
export async function createCredential(orchestrator: Orchestrator, wanted: CredentialParams): Promise<Credential> {
	const { namespace, name, cluster_role } = wanted;
	const [accounts, bindings, role_binding] = [accountsPath(namespace), bindingsPath(namespace), bindingName(wanted)];
	const made: Made[] = [];
	const create = async (kind: Made["kind"], collection: string, body: Fields, name: string) => {
		made.unshift({ kind, path: `${collection}/${name}` });
		return orchestrator.call({ method: "POST", path: collection, body }).catch((error: unknown) => {
			// An object of that name that somebody else made stays.
			if (error instanceof CallError && !error.isOpen) made.shift();
			throw inStep(`creating ${kind}`, error);
		});
	};
	try {
		const account = await create("service account", accounts, accountObject(wanted), name);
		await create("role binding", bindings, bindingObject(wanted, uidOf(account)), role_binding);
		const granted = await requestToken(orchestrator, `${accounts}/${name}/token`, tokenRequest(wanted));
		return { ...granted, namespace, service_account: name, role_binding, cluster_role };
	} catch (error) {
		const left = await undo(orchestrator, made);
		if (left.length === 0 || !(error instanceof EngineError)) throw error;
		throw new EngineError(`${error.message}; clean-up failed: ${left.join("; ")}`, { cause: error });
	}
}

/**
 * Deletes the bindings that an account may have, as far as possible, and then the account. A binding whose deletion was not answered is
 * tried once more after the account, for the API server may have come back in between.
 * @throws EngineError `deleting service account: …`, also when there is no such account
 * Spec: ENGINES › containerorch operations
 */
export async function deleteCredential(orchestrator: Orchestrator, namespace: string, name: string): Promise<void> {
	const bindings = descriptor.default_roles.map(
		(role) => `${bindingsPath(namespace)}/${bindingName({ name, role: role.name })}`,
	);
	const tries = await Promise.allSettled(bindings.map((path) => orchestrator.call({ method: "DELETE", path })));
	await orchestrator.call({ method: "DELETE", path: `${accountsPath(namespace)}/${name}` }).catch((error: unknown) => {
		throw inStep("deleting service account", error);
	});
	const unanswered = bindings.filter((_, at) => isUnanswered(tries[at]));
	const signal = AbortSignal.timeout(SECOND_TRY_MS);
	await Promise.allSettled(unanswered.map((path) => orchestrator.call({ method: "DELETE", path, signal })));
}

function isUnanswered(tried: PromiseSettledResult<Fields> | undefined): boolean {
	return tried?.status === "rejected" && tried.reason instanceof CallError && tried.reason.status === undefined;
}

/** Turns a failed call into a refusal; returns other errors as they are. */
export function inStep(step: string, error: unknown): unknown {
	return error instanceof CallError ? new EngineError(`${step}: ${error.message}`, { cause: error }) : error;
}

async function requestToken(
	orchestrator: Orchestrator,
	path: string,
	body: Fields,
): Promise<Pick<Credential, "token" | "expires_at">> {
	const answer = await orchestrator.call({ method: "POST", path, body }).catch((error: unknown) => {
		throw inStep("requesting token", error);
	});
	const { token, expirationTimestamp: expires_at } = isObject(answer.status) ? answer.status : {};
	if (typeof token === "string" && TOKEN.test(token) && typeof expires_at === "string" && TIMESTAMP.test(expires_at)) {
		return { token, expires_at };
	}
	throw new EngineError(`requesting token: POST ${path}: the answer holds no token or does not say when it expires`);
}

function uidOf({ metadata }: Fields): string | undefined {
	return isObject(metadata) && typeof metadata.uid === "string" ? metadata.uid : undefined;
}

/** Deletes the objects made, newest first, within the time of one call. @returns what is or may be left, and why */
async function undo(orchestrator: Orchestrator, made: readonly Made[]): Promise<string[]> {
	const signal = AbortSignal.timeout(orchestrator.timeout_ms);
	const left: string[] = [];
	for (const { kind, path } of made) {
		await orchestrator.call({ method: "DELETE", path, signal }).catch((error: unknown) => {
			if (!(error instanceof CallError)) throw error;
			if (error.status !== 404) left.push(`deleting ${kind}: ${error.message}`);
		});
	}
	return left;
}
