import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import http from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { createIdentity } from "./identity.ts";
import { kubeconfigOf } from "./kubernetes-config.ts";

/** An engine's request to an API server. `read` is any GET except that of ping. */
export type Step =
	| "ping"
	| "create_account"
	| "create_binding"
	| "request_token"
	| "delete_binding"
	| "delete_account"
	| "review"
	| "read";

/** A JSON object of the API. */
export type ApiObject = Record<string, unknown>;

/** A fault that replaces the right answer to the calls of a step. */
export type Fault = {
	/** Tells whether the call still takes effect; always true for `break`, `drip` and `delay`. */
	readonly acts?: boolean;
	/** Number of calls that fail; all by default. */
	readonly times?: number;
} & (
	| {
			readonly does: "answer";
			readonly status: number;
			/** Sent as JSON unless it is a text. */
			readonly body?: string | object;
			readonly headers?: Readonly<Record<string, string>>;
	  }
	/** No answer on an open connection. `drop`: the connection ends. `break`: it ends in the middle of the right answer. */
	| { readonly does: "hang" | "drop" | "break" }
	/** The right answer, with its bytes `ms` apart, or `ms` late. */
	| { readonly does: "drip" | "delay"; readonly ms: number }
	/** The right answer, but not before that. */
	| { readonly does: "wait"; readonly until: Promise<unknown> }
);

/** A call as it arrived. */
export interface SeenCall {
	readonly step: Step;
	readonly method: string;
	/** Path and query as sent. */
	readonly path: string;
	readonly headers: http.IncomingHttpHeaders;
	/** Undefined when the call has none. */
	readonly body: ApiObject | undefined;
}

/** Options of a fake. */
export interface FakeOptions {
	/** Names and addresses in its certificate; by default those of the loopback interface. */
	readonly names?: readonly string[];
	/** Speaks plain HTTP. */
	readonly plain?: boolean;
}

/** A server on loopback that answers like a Kubernetes API server, as far as the engine asks, and fails on demand. */
export interface FakeOrchestrator {
	readonly url: string;
	/** PEM of the authority that signed its certificate. */
	readonly ca: string;
	/** The only bearer token that it accepts. */
	readonly token: string;
	/** A client configuration for it, in YAML. */
	readonly kubeconfig: string;
	/** All calls that it received, in order. */
	readonly calls: SeenCall[];
	/** Rights that its account lacks, such as `create rolebindings in default`. Tests write to it. */
	readonly denied: Set<string>;
	/** Its objects, by path. Tests read and write them. */
	readonly objects: Map<string, ApiObject>;
	/** Makes the calls of a step fail from now on; without a fault they work again. */
	fault(step: Step, fault: Fault | undefined): void;
	/** Returns the steps called since the last use of this method. */
	steps(): Step[];
	stop(): Promise<void>;
}

interface Answer {
	readonly status: number;
	readonly body: string;
	readonly headers?: Readonly<Record<string, string>>;
}

const COLLECTION = String.raw`(?:/api/v1|/apis/rbac\.authorization\.k8s\.io/v1)(?:/namespaces/[^/]+)?/(?:serviceaccounts|rolebindings)`;
const OBJECT = new RegExp(`^${COLLECTION}/[^/]+$`);
const LIST = new RegExp(`^${COLLECTION}$`);

/** Starts a fake on a free port. */
export async function startFakeOrchestrator(options: FakeOptions = {}): Promise<FakeOrchestrator> {
	const { ca, key, cert } = await createIdentity(options.names ?? ["127.0.0.1", "localhost"]);
	const token = randomBytes(32).toString("base64url");
	const calls: SeenCall[] = [];
	const objects = new Map<string, ApiObject>();
	const denied = new Set<string>();
	const faults = new Map<Step, Fault>();
	let seen = 0;
	const listener: http.RequestListener = async (request, response) => {
		const call = await readCall(request);
		calls.push(call);
		const isKnown = request.headers.authorization === `Bearer ${token}`;
		const act = () => (isKnown ? perform({ objects, denied }, call) : failure(401, "Unauthorized", "Unauthorized"));
		await respond(response, takeFault(faults, call.step), act);
	};
	const server = options.plain === true ? http.createServer(listener) : https.createServer({ key, cert }, listener);
	await once(server.listen(0, "127.0.0.1"), "listening");
	const { port } = server.address() as AddressInfo;
	const url = `${options.plain === true ? "http" : "https"}://127.0.0.1:${port}`;
	return {
		url,
		ca,
		token,
		kubeconfig: kubeconfigOf(url, ca, token),
		calls,
		denied,
		objects,
		fault: (step, fault) => void (fault === undefined ? faults.delete(step) : faults.set(step, fault)),
		steps: () => {
			const since = calls.slice(seen).map(({ step }) => step);
			seen = calls.length;
			return since;
		},
		stop: async () => {
			const closed = once(server.close(), "close");
			server.closeAllConnections();
			await closed;
		},
	};
}

async function readCall(request: http.IncomingMessage): Promise<SeenCall> {
	const { method = "", url: path = "", headers } = request;
	const body = await text(request);
	return { step: stepOf(method, path), method, path, headers, body: body === "" ? undefined : JSON.parse(body) };
}

function stepOf(method: string, path: string): Step {
	const isBinding = path.includes("/rolebindings");
	if (method === "DELETE") return isBinding ? "delete_binding" : "delete_account";
	if (path.endsWith("/selfsubjectaccessreviews")) return "review";
	if (method === "POST")
		return path.endsWith("/token") ? "request_token" : isBinding ? "create_binding" : "create_account";
	return path === "/api/v1/namespaces/default" ? "ping" : "read";
}

function takeFault(faults: Map<Step, Fault>, step: Step): Fault | undefined {
	const fault = faults.get(step);
	if (fault?.times === undefined) return fault;
	if (fault.times > 1) faults.set(step, { ...fault, times: fault.times - 1 });
	else faults.delete(step);
	return fault;
}

async function respond(response: http.ServerResponse, fault: Fault | undefined, act: () => Answer): Promise<void> {
	// The engine may have given up and closed the connection.
	response.on("error", () => undefined);
	if (fault === undefined) return send(response, act());
	switch (fault.does) {
		case "answer": {
			if (fault.acts === true) act();
			const { status, body = "", headers = {} } = fault;
			return send(response, { status, body: typeof body === "string" ? body : JSON.stringify(body), headers });
		}
		case "delay": {
			const answer = act();
			await setTimeout(fault.ms);
			return send(response, answer);
		}
		case "wait":
			await fault.until;
			return send(response, act());
		case "drip":
			return drip(response, act(), fault.ms);
		case "break": {
			const { status, body } = act();
			response.writeHead(status, { "content-length": Buffer.byteLength(body) });
			response.write(body.slice(0, body.length / 2), () => response.destroy());
			return;
		}
		default:
			if (fault.acts === true) act();
			if (fault.does === "drop") response.destroy();
	}
}

function send(response: http.ServerResponse, { status, body, headers }: Answer): void {
	response.writeHead(status, { "content-type": "application/json", ...headers });
	response.end(body);
}

async function drip(response: http.ServerResponse, { status, body }: Answer, ms: number): Promise<void> {
	response.writeHead(status, { "content-length": Buffer.byteLength(body) });
	for (const byte of Buffer.from(body)) {
		if (response.destroyed) return;
		response.write(Buffer.of(byte));
		await setTimeout(ms);
	}
	response.end();
}

/** Carries out a call and returns the API server's answer. */
function perform({ objects, denied }: Pick<FakeOrchestrator, "objects" | "denied">, call: SeenCall): Answer {
	if (call.path.endsWith("/selfsubjectaccessreviews")) return reviewed(denied, call.body ?? {});
	const { pathname, searchParams } = new URL(call.path, "https://fake");
	if (call.step === "ping") return success(200, { kind: "Namespace", apiVersion: "v1", metadata: { name: "default" } });
	if (call.method === "POST" && LIST.test(pathname)) return create(objects, pathname, call.body ?? {});
	if (call.step === "request_token") return mint(objects, pathname.slice(0, -"/token".length), call.body ?? {});
	if (call.method === "GET" && LIST.test(pathname)) return list(objects, pathname, searchParams);
	const found = OBJECT.test(pathname) ? objects.get(pathname) : undefined;
	if (found === undefined) return failure(404, "NotFound", `${pathname} not found`);
	if (call.method === "DELETE") objects.delete(pathname);
	return success(200, found);
}

function reviewed(denied: ReadonlySet<string>, body: ApiObject): Answer {
	const { resourceAttributes } = body.spec as { resourceAttributes: Record<string, string | undefined> };
	const { verb, resource, subresource, name, namespace } = resourceAttributes;
	const what = [resource, subresource].filter((part) => part !== undefined).join("/");
	const right = [verb, what, name].filter((part) => part !== undefined).join(" ");
	return success(201, { ...body, status: { allowed: !denied.has(`${right} in ${namespace}`) } });
}

function create(objects: Map<string, ApiObject>, collection: string, body: ApiObject): Answer {
	const metadata = body.metadata as ApiObject;
	const path = `${collection}/${metadata.name}`;
	if (objects.has(path)) return failure(409, "AlreadyExists", `"${metadata.name}" already exists`);
	const created = { ...body, metadata: { ...metadata, uid: randomUUID(), creationTimestamp: timestamp(0) } };
	objects.set(path, created);
	return success(201, created);
}

function mint(objects: Map<string, ApiObject>, account: string, body: ApiObject): Answer {
	if (!objects.has(account)) return failure(404, "NotFound", `${account} not found`);
	const { expirationSeconds } = body.spec as { expirationSeconds: number };
	if (expirationSeconds < 600) {
		return failure(422, "Invalid", "spec.expirationSeconds: may not specify a duration less than 10 minutes");
	}
	const part = () => randomBytes(40).toString("base64url");
	const status = { token: `${part()}.${part()}.${part()}`, expirationTimestamp: timestamp(expirationSeconds) };
	return success(201, { ...body, status });
}

/** Lists objects; supports only selectors of the form `name=value,name=value`. `continue` is the number of items already answered. */
function list(objects: Map<string, ApiObject>, collection: string, query: URLSearchParams): Answer {
	const kind = collection.slice(collection.lastIndexOf("/"));
	const wanted = (query.get("labelSelector") ?? "").split(",").filter((term) => term !== "");
	const items = [...objects]
		.filter(([path, { metadata }]) => {
			const { labels = {} } = metadata as { labels?: Record<string, string> };
			const isInside = collection.includes("/namespaces/")
				? path.startsWith(`${collection}/`)
				: path.includes(`${kind}/`);
			return isInside && wanted.every((term) => Object.entries(labels).some((label) => label.join("=") === term));
		})
		.map(([, object]) => object);
	const start = Number(query.get("continue") ?? 0);
	const end = start + Number(query.get("limit") ?? items.length);
	const metadata = end < items.length ? { continue: String(end) } : {};
	return success(200, { kind: "List", apiVersion: "v1", metadata, items: items.slice(start, end) });
}

function success(status: number, body: ApiObject): Answer {
	return { status, body: JSON.stringify(body) };
}

function failure(code: number, reason: string, message: string): Answer {
	return success(code, { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, code });
}

function timestamp(inSeconds: number): string {
	return `${new Date(Date.now() + inSeconds * 1000).toISOString().slice(0, 19)}Z`;
}
