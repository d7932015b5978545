import { readFile } from "node:fs/promises";

/** Where the files lie that come with the server and are no code of its own; spelled out, so that a bundler finds them. */
const PLACES = {
	"swagger-ui-bundle.js": () => import.meta.resolve("swagger-ui-dist/swagger-ui-bundle.js"),
	"swagger-ui.css": () => import.meta.resolve("swagger-ui-dist/swagger-ui.css"),
} as const;

/** A file of Swagger UI, as its package names it. */
export type Asset = keyof typeof PLACES;

/** Reads such a file, as text. It is not kept: hardly anybody asks for it twice in an hour. */
export function readAsset(name: Asset): Promise<string> {
	return readFile(new URL(PLACES[name]()), "utf8");
}
