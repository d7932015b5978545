import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { type Random, seededRandom } from "../faults/random.ts";
import { secretPath } from "../harness/fixtures.ts";
import type { Reply } from "./client.ts";
import { NODES } from "./cluster.ts";
import { MAX_UNKNOWN } from "./roles.ts";
import { createRoleRealm, outcomeOf, type World } from "./world.ts";

const CLIENTS = 10;

/** Keys that all clients write and read: few, so that they meet. */
export const KEYS = ["A", "B", "C"] as const;

/** Tokens that are used, the revoked ones among them. */
const TOKENS = 6;

/** Credentials that are not ended yet. */
const CREDENTIALS = 12;

/** Operations on the role in one realm: a checker's time grows with them. */
const MAX_OF_REALM = 2000;

/** Things that the clients share. */
interface Shared {
	readonly world: World;
	/** The newest tokens. */
	readonly tokens: { readonly id: string; readonly token: string }[];
	/** Credentials that may be ended. */
	readonly names: string[];
	/** Realm of the role, with the number of operations there, and of those whose outcome nobody knows. */
	roles: { slug: string; count: number; unknown: number } | undefined;
}

/** Milliseconds that a client waits after a request that failed. */
const REST_MS = 50;

/** Lets clients send one request after the other until the signal. */
export async function load(world: World, seed: number, signal: AbortSignal): Promise<void> {
	const shared: Shared = { world, tokens: [], names: [], roles: undefined };
	const client = async (at: number) => {
		const random = seededRandom(seed + at);
		while (!signal.aborted) {
			await turn(shared, random);
			// A server that is down refuses so fast that nothing else would run.
			if (world.operations.at(-1)?.status === 0) await pause(REST_MS);
		}
	};
	await Promise.all(Array.from({ length: CLIENTS }, (_, at) => client(at)));
}

/** Takes one step of those that a client takes, by chance. */
function turn(shared: Shared, random: Random): Promise<unknown> {
	const choice = random.below(100);
	if (choice < 18) return write(shared, random);
	if (choice < 50) return read(shared, random);
	if (choice < 55) return createToken(shared, random);
	if (choice < 59) return revokeToken(shared, random);
	if (choice < 86) return useRole(shared, random);
	return choice < 93 ? generate(shared, random) : end(shared, random);
}

function write({ world }: Shared, random: Random): Promise<unknown> {
	const { admin, slug } = world;
	const subject = pick(random, KEYS);
	const body = { key: subject, value: randomUUID() };
	const about = { kind: "write", subject, value: body.value } as const;
	return world.ask(random, about, { method: "POST", path: `/realms/${slug}/secrets`, token: admin.token, body });
}

function read({ world, tokens }: Shared, random: Random): Promise<unknown> {
	const { id, token } = pick(random, tokens) ?? {};
	const subject = pick(random, KEYS);
	const about = { kind: "read", subject, ...(id !== undefined && { token: id }) } as const;
	const sent = { method: "GET", path: secretPath(world.slug, subject), token: token ?? world.admin.token } as const;
	return world.ask(random, about, sent);
}

async function createToken({ world, tokens }: Shared, random: Random): Promise<void> {
	const body = { name: randomUUID(), scopes: "read" };
	const sent = { method: "POST", path: "/auth/tokens", token: world.admin.token, body } as const;
	const { status, body: made } = await world.sendTo(random.below(NODES), sent);
	if (status !== 201) return;
	tokens.push(made);
	if (tokens.length > TOKENS) tokens.shift();
}

async function revokeToken({ world, tokens }: Shared, random: Random): Promise<void> {
	const { id } = pick(random, tokens) ?? {};
	if (id === undefined) return;
	const sent = { method: "DELETE", path: `/auth/tokens/${id}`, token: world.admin.token } as const;
	await world.ask(random, { kind: "revoke", subject: id }, sent);
}

async function useRole(shared: Shared, random: Random): Promise<void> {
	const { world, roles } = shared;
	if (roles === undefined || roles.unknown >= MAX_UNKNOWN || roles.count >= MAX_OF_REALM) {
		const slug = await createRoleRealm(world, random.below(NODES));
		shared.roles = slug === undefined ? undefined : { slug, count: 0, unknown: 0 };
		return;
	}
	roles.count++;
	if (random.below(10) < 6) await look(world, random, roles.slug);
	else if (outcomeOf(await changeRole(world, random, roles.slug)) === "unknown") roles.unknown++;
}

function look({ ask, member }: World, random: Random, subject: string): Promise<Reply> {
	const sent = { method: "GET", path: secretPath(subject, "SEEN"), token: member.token } as const;
	return ask(random, { kind: "look", subject }, sent);
}

function changeRole({ ask, admin: { token }, member }: World, random: Random, subject: string): Promise<Reply> {
	const path = `/realms/${subject}/policy/bindings`;
	const body = { user_id: member.id, role: "viewer" };
	if (random.below(2) === 0) return ask(random, { kind: "bind", subject }, { method: "POST", path, token, body });
	return ask(random, { kind: "unbind", subject }, { method: "DELETE", path: `${path}/${member.id}`, token });
}

async function generate({ world, names }: Shared, random: Random): Promise<void> {
	if (names.length >= CREDENTIALS) return;
	// Some end by themselves, which every server notices at the same moment.
	const body = { role: "readonly", ttl: random.below(2) === 0 ? "1s" : "10m" };
	const path = `/realms/${world.slug}/engines/folder/generate`;
	const subject = ({ body: made }: { body: { username?: string } | undefined }) => made?.username ?? "";
	const sent = { method: "POST", path, token: world.admin.token, body } as const;
	const { status, body: made } = await world.ask(random, { kind: "generate", subject }, sent);
	if (status === 200 && body.ttl === "10m") names.push(made.username);
}

/** Ends a credential, sometimes on two servers at the same time. */
async function end({ world, names }: Shared, random: Random): Promise<void> {
	const subject = names.splice(random.below(names.length), 1)[0];
	if (subject === undefined) return;
	const path = `/realms/${world.slug}/engines/folder/validate`;
	const sent = { method: "POST", path, token: world.admin.token, body: { username: subject } } as const;
	const once = () => world.ask(random, { kind: "end", subject }, sent);
	const replies = await Promise.all(random.below(2) === 0 ? [once()] : [once(), once()]);
	if (replies.every(({ status }) => status !== 200)) names.push(subject);
}

function pick<Item>(random: Random, items: readonly [Item, ...Item[]]): Item;
function pick<Item>(random: Random, items: readonly Item[]): Item | undefined;
function pick<Item>(random: Random, items: readonly Item[]): Item | undefined {
	return items[random.below(items.length)];
}
