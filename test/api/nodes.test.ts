import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { ok, recent, refused, uuid } from "../harness/expect.ts";
import { type Person, person } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";

let server: Server;
let client: Api;
let admin: Person;

before(async () => {
	server = await startServer();
	client = api(server);
	admin = await person(client, "admin");
});
after(() => server.close());

type Nodes = { nodes: { id: string; address: string; status: string; started_at: string; seen_at: string }[] };

test("a server that nobody shares a database with lists itself, and a restart makes another node", async () => {
	const list = async () => ok(await client.get<Nodes>("/nodes", { token: admin.token })).nodes;
	const [node, ...others] = await list();
	assert.ok(node);
	assert.deepEqual(others, []);
	uuid(node.id);
	assert.deepEqual([node.address, node.status], [server.url, "active"]);
	recent(node.started_at);
	recent(node.seen_at);
	await server.restart();
	client = api(server);
	const [next, ...more] = await list();
	assert.deepEqual(more, []);
	assert.notEqual(next?.id, node.id);
});

test("only the instance admin sees the nodes", async () => {
	const other = await person(client, "other");
	refused(await client.get("/nodes", { token: other.token }), 403, "forbidden");
});
