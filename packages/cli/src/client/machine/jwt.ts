import { hash } from "node:crypto";
import { resolve } from "node:path";
import { Failure } from "../../failure.ts";
import { type Io, setting } from "../../io/io.ts";
import { readTokenFile } from "../token-file.ts";
import { requestGithubJwt } from "./github.ts";

/** A place that gives JWTs of this machine. */
export interface JwtSource {
	/** For a person, such as `GitHub Actions`. */
	readonly name: string;
	/** Digest of what proves the caller's identity: a token that was obtained with another proof is not used. */
	readonly proof: string;
	/** Gets a JWT; its issuer decides the audience unless it can be asked for one. */
	read(audience: string): Promise<string>;
}

/** Place of a projected token, unless SVC_JWT_FILE names another one. */
const USUAL_JWT_FILE = "/var/run/secrets/svc/token";
/** The token of a pod for its cluster's own API server. With it, another server could act as the pod there. */
const CLUSTER_TOKEN = /(?:^|\/)run\/secrets\/kubernetes\.io\/serviceaccount\//;

/** Three parts of base64url, as the server takes it. */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/**
 * Finds a JWT of this machine: the file of SVC_JWT_FILE or its usual place, else GitHub's request variables, else SVC_ID_TOKEN. Never the token
 * that Kubernetes gives every pod. Design: §15
 * @throws Failure usage when a source is there and gives none
 */
export async function findJwtSource(io: Io, usualFile = USUAL_JWT_FILE): Promise<JwtSource | undefined> {
	const named = setting(io, "SVC_JWT_FILE");
	if (named !== undefined) return fromFile(resolve(io.cwd(), named), "the file of SVC_JWT_FILE", true);
	const usual = await fromFile(usualFile, `the file ${usualFile}`, false);
	if (usual !== undefined) return usual;
	const [url, token] = [setting(io, "ACTIONS_ID_TOKEN_REQUEST_URL"), setting(io, "ACTIONS_ID_TOKEN_REQUEST_TOKEN")];
	if (url !== undefined && token !== undefined) {
		const read = (audience: string) => requestGithubJwt({ url, token }, audience);
		return {
			name: "GitHub Actions",
			proof: digest(`${url} ${token}`),
			read: async (audience) => checked(await read(audience), "the answer of GitHub"),
		};
	}
	const text = setting(io, "SVC_ID_TOKEN");
	return text === undefined ? undefined : given(text.trim(), "SVC_ID_TOKEN");
}

async function fromFile(path: string, name: string, isWanted: boolean): Promise<JwtSource | undefined> {
	if (CLUSTER_TOKEN.test(path)) {
		throw new Failure(
			"usage",
			"SVC_JWT_FILE names the pod's token for its cluster: with it, the server could act as the pod",
			{
				hint: `project a token for the server's audience into the pod, such as to ${USUAL_JWT_FILE}`,
			},
		);
	}
	const jwt = await readTokenFile(path, name);
	if (jwt !== undefined) return given(jwt, name);
	if (isWanted) throw new Failure("usage", `${name} cannot be read (ENOENT)`);
	return undefined;
}

function given(text: string, name: string): JwtSource {
	const jwt = checked(text, name);
	return { name, proof: digest(jwt), read: async () => jwt };
}

function checked(text: string, source: string): string {
	if (!JWT.test(text)) throw new Failure("usage", `${source} is no JWT`);
	return text;
}

function digest(text: string): string {
	return hash("sha256", text, "base64url");
}

/** Failure of a machine without a JWT: it says what the system around it must give. */
export function noJwt(io: Io, machine: string, audience: string): Failure {
	const { missing, hint } = explainMissing(io, audience);
	return new Failure("denied", `nothing here gives a JWT for the machine ${machine}${missing}`, { hint });
}

function explainMissing(io: Io, audience: string): { readonly missing: string; readonly hint: string } {
	if (setting(io, "GITHUB_ACTIONS") === "true")
		return {
			missing: ": this job may not ask GitHub for one",
			hint: "give the job `permissions: id-token: write`; a pull request from a fork gets no JWT",
		};
	if (setting(io, "GITLAB_CI") === "true")
		return {
			missing: ": SVC_ID_TOKEN is not set",
			hint: `give the job \`id_tokens: SVC_ID_TOKEN: aud: ${audience}\``,
		};
	if (setting(io, "KUBERNETES_SERVICE_HOST") !== undefined)
		return {
			missing: `: there is no file ${USUAL_JWT_FILE}`,
			hint: `project a token for the audience ${audience} into the pod, or name its file with SVC_JWT_FILE`,
		};
	return { missing: "", hint: "SVC_JWT_FILE names a file with one, SVC_ID_TOKEN holds one" };
}
