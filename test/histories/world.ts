import assert from "node:assert/strict";
import type { Random } from "../faults/random.ts";
import { api } from "../harness/client.ts";
import { ok } from "../harness/expect.ts";
import { type Person, person, realm, unique } from "../harness/fixtures.ts";
import { createClient, type Reply, type Sent } from "./client.ts";
import type { Cluster } from "./cluster.ts";
import type { Kind, Operation } from "./history.ts";

/** Facts of an operation that are known before its answer. */
export interface About {
	readonly kind: Kind;
	/** The subject, or what finds it in the answer: the name of a credential is not known before. */
	readonly subject: string | ((reply: Reply) => string);
	/** Id of the token that it is sent with. */
	readonly token?: string;
	/** Value that it writes. */
	readonly value?: string;
}

/** Accounts and realm that the clients use, and the record of what they do. */
export interface World {
	readonly admin: Person;
	/** Holds a role now and then. */
	readonly member: Person;
	/** Realm of the secrets and credentials. */
	readonly slug: string;
	/** Everything that was sent, in the order of the answers. */
	readonly operations: Operation[];
	/** Sends a request to a server by chance, and records it. */
	ask(random: Random, about: About, sent: Sent): Promise<Reply>;
	/** Sends a request to one server, and records it. */
	askOf(node: number, about: About, sent: Sent): Promise<Reply>;
	/** Sends a request that is no part of the history to one server. */
	sendTo(node: number, sent: Sent): Promise<Reply>;
}

/** Makes the accounts and the realm. */
export async function createWorld({ nodes, target }: Cluster): Promise<World> {
	const [first] = nodes;
	assert.ok(first);
	const on = api(first.server);
	const admin = await person(on, "admin");
	const member = await person(on, "member");
	const { slug } = await realm(on, admin);
	const config = { path: target, allowed_realms: ["*"] };
	ok(await on.put("/engines/folder/config", config, { token: admin.token }));
	const clients = nodes.map(({ url, server }) => createClient(url, server.ca));
	const operations: Operation[] = [];
	const sendTo: World["sendTo"] = async (node, sent) => (clients[node] ?? assert.fail("no such server"))(sent);
	const askOf: World["askOf"] = async (node, about, sent) => {
		const start_ms = performance.now();
		const reply = await sendTo(node, sent);
		operations.push(recorded(about, node, reply, start_ms));
		return reply;
	};
	return {
		...{ admin, member, slug, operations, askOf, sendTo },
		ask: (random, about, sent) => askOf(random.below(nodes.length), about, sent),
	};
}

/** Creates a realm in which the member holds a role now and then. @returns its slug, unless that failed */
export async function createRoleRealm({ admin: { token }, sendTo }: World, node: number): Promise<string | undefined> {
	const slug = unique("roles");
	const made = await sendTo(node, { method: "POST", path: "/realms", token, body: { slug, name: slug } });
	if (made.status !== 201) return undefined;
	const body = { key: "SEEN", value: "a value" };
	const written = await sendTo(node, { method: "POST", path: `/realms/${slug}/secrets`, token, body });
	return written.status === 201 ? slug : undefined;
}

/** Words of an answer that says that nothing was changed. */
const VOID = /nothing was changed/;

function recorded({ kind, subject, token, value }: About, node: number, reply: Reply, start_ms: number): Operation {
	const outcome = outcomeOf(reply);
	return {
		...{ kind, node, token, outcome, start_ms },
		subject: typeof subject === "string" ? subject : subject(reply),
		value: value ?? reply.body?.value,
		version: reply.body?.version,
		status: reply.status,
		request_id: reply.request_id,
		end_ms: outcome === "unknown" ? Number.POSITIVE_INFINITY : performance.now(),
	};
}

/** Tells what a caller knows after an answer. */
export function outcomeOf({ status, body }: Reply): Operation["outcome"] {
	if (status >= 200 && status < 300) return "done";
	if (status === 429 || (status === 503 && VOID.test(body?.error?.message))) return "void";
	return status >= 400 && status < 500 ? "refused" : "unknown";
}
