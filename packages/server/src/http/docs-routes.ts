import { hash } from "node:crypto";
import * as v from "valibot";
import { readAsset } from "../asset.ts";
import { publicRoute, type Route } from "./route.ts";

/**
 * Lets the page load its own files and call its own server, nothing else. Swagger UI draws its icons from data: addresses; the page has no inline
 * script or style.
 */
const POLICY = [
	"default-src 'none'",
	...["script-src", "style-src", "connect-src"].map((kind) => `${kind} 'self'`),
	"img-src 'self' data:",
	...["base-uri", "form-action", "frame-ancestors"].map((kind) => `${kind} 'none'`),
	// It shares its origin with the console, which answers neither fetches nor frames: without windows its script cannot reach a page. Design: §16
	"sandbox allow-scripts allow-same-origin allow-forms",
].join("; ");

/** Links are relative, so that a proxy may put the server below a path. */
const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>svc: the API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<noscript>This page needs JavaScript; <a href="api/v1/openapi.json">the reference as a document</a> does not.</noscript>
<div id="api"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`;

/** A token stays in the page's memory, and no other server is asked to validate the document. */
const START = `SwaggerUIBundle({
	dom_id: "#api",
	url: "api/v1/openapi.json",
	validatorUrl: "none",
	persistAuthorization: false,
	deepLinking: true,
	docExpansion: "list",
	defaultModelsExpandDepth: -1,
	displayRequestDuration: true,
	filter: true,
});
`;

/**
 * Declares the interactive page of the API and its files. Everything comes from this server, is read at the first request, and is not
 * sent again while unchanged. Not in the reference: it is the reference.
 */
export function docsRoutes(): Route[] {
	const script = () => readAsset(new URL(import.meta.resolve("swagger-ui-dist/swagger-ui-bundle.js")));
	const style = () => readAsset(new URL(import.meta.resolve("swagger-ui-dist/swagger-ui.css")));
	return [
		fileRoute("/docs", "text/html", () => Buffer.from(PAGE)),
		fileRoute("/docs/start.js", "text/javascript", () => Buffer.from(START)),
		fileRoute("/docs/swagger-ui-bundle.js", "text/javascript", script),
		fileRoute("/docs/swagger-ui.css", "text/css", style),
	];
}

const UNCHANGED = new Uint8Array();

function fileRoute(path: string, media: string, read: () => Buffer): Route {
	let file: { bytes: Buffer; etag: string } | undefined;
	return publicRoute({
		method: "GET",
		path,
		summary: "The interactive page of the API",
		status: 200,
		answer: v.string(),
		media: `${media}; charset=utf-8`,
		other: { status: 304, when: (bytes) => bytes === UNCHANGED },
		async handle({ headers, if_none_match }) {
			file ??= withTag(read());
			const { bytes, etag } = file;
			Object.assign(headers, {
				etag,
				"cache-control": "no-cache",
				"content-security-policy": POLICY,
				"cross-origin-opener-policy": "same-origin",
				"referrer-policy": "no-referrer",
			});
			if (if_none_match?.includes(etag) === true) return UNCHANGED;
			headers["content-length"] = String(bytes.length);
			return bytes;
		},
	});
}

function withTag(bytes: Buffer): { bytes: Buffer; etag: string } {
	return { bytes, etag: `"${hash("sha256", bytes, "base64url")}"` };
}
