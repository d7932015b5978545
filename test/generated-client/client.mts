import createClient, { type Middleware } from "openapi-fetch";
import type { components, paths } from "./.generated/schema.d.ts";

// A client written with only the API's document: every path, body and answer below is checked against it.
const [, , baseUrl = "", email = "", password = ""] = process.argv;
const client = createClient<paths>({ baseUrl });

type Failure = components["schemas"]["Error"];
function taken<Data>({ data, error, response }: { data?: Data; error?: Failure; response: Response }): Data {
	if (data === undefined) throw new Error(`${response.status} ${error?.error.code}: ${error?.error.message}`);
	return data;
}

await client.POST("/api/v1/auth/register", { body: { email, password } }).then(taken);
const session = taken(await client.POST("/api/v1/auth/login", { body: { email, password } }));
const authenticate: Middleware = {
	onRequest({ request }) {
		request.headers.set("Authorization", `Bearer ${session.token}`);
		return request;
	},
};
client.use(authenticate);

taken(await client.POST("/api/v1/realms", { body: { slug: "shop", name: "Shop" } }));
for (const key of ["FIRST", "SECOND"]) {
	const params = { path: { slug: "shop" } };
	taken(
		await client.POST("/api/v1/realms/{slug}/secrets", {
			params,
			body: { key, value: `value of ${key}`, environment: "prod" },
		}),
	);
}
const listing = { path: { slug: "shop" }, query: { env: "prod", limit: 1 } } as const;
const page = taken(await client.GET("/api/v1/realms/{slug}/secrets", { params: listing }));
const values = page.secrets.map(({ key, value, version }) => ({ key, value, version: version.toFixed() }));
const { data: sync } = await client.GET("/api/v1/eso/{realm}/{key}", {
	params: { path: { realm: "shop", key: "SECOND" } },
});
const missing = await client.GET("/api/v1/realms/{slug}", { params: { path: { slug: "nowhere" } } });
const health = await client.GET("/api/v1/health");
const body = health.data ?? health.error;
const status: "healthy" | "unhealthy" | undefined = body !== undefined && "status" in body ? body.status : undefined;

process.stdout.write(
	JSON.stringify({
		values,
		has_more: page.pagination.has_more,
		sync: sync?.value,
		missing: missing.error?.error.code,
		request_id: missing.response.headers.get("X-Request-Id") !== null,
		status,
	}),
);
