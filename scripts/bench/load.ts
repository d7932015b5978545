import { type Ask, bodyOf, headersOf } from "./exchange.ts";

/** Lua for wrk that repeats one request. */
export function sameRequest(request: Ask): string {
	const body = bodyOf(request);
	return preamble(request) + (body === undefined ? "" : `wrk.body = ${quoted(body)}\n`);
}

/** Lua for wrk that sends requests in turn, formatted before the run, so that making them costs nothing during it. */
export function requestsInTurn(requests: readonly [Ask, ...Ask[]]): string {
	const formatted = requests.map((request) => `\trequests[#requests + 1] = ${format(request)}\n`);
	return `${preamble(requests[0])}
local requests, at = {}, 0
function init()
${formatted.join("")}end
function request()
	at = at % #requests + 1
	return requests[at]
end
`;
}

/** Lua for wrk that reads random secrets. @param reads.path path of a secret, from the numbers of its realm and itself */
export function randomReads(reads: {
	readonly token: string;
	readonly realms: number;
	readonly secretsPerRealm: number;
	path(realm: string, secret: string): string;
}): string {
	const path = reads.path("%d", "%d");
	return `${preamble({ method: "GET", path, token: reads.token })}
function request()
	local path = string.format(${quoted(path)}, math.random(0, ${reads.realms - 1}), math.random(0, ${reads.secretsPerRealm - 1}))
	return wrk.format("GET", path)
end
`;
}

function format(request: Ask): string {
	const { method, path } = request;
	const body = bodyOf(request);
	const headers = Object.entries(headersOf(request)).map(([name, value]) => `["${name}"] = ${quoted(value)}`);
	const text = body === undefined ? "nil" : quoted(body);
	return `wrk.format("${method}", ${quoted(path)}, {${headers.join(", ")}}, ${text})`;
}

function preamble(request: Ask): string {
	const headers = Object.entries(headersOf(request)).map(
		([name, value]) => `wrk.headers["${name}"] = ${quoted(value)}\n`,
	);
	return `wrk.method = "${request.method}"\nwrk.path = ${quoted(request.path)}\n${headers.join("")}`;
}

/** A long bracket takes every byte literally. */
function quoted(text: string): string {
	return `[==[${text}]==]`;
}
