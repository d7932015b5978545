import { readFile } from "node:fs/promises";
import type { Command, Option } from "commander";
import { type Answer, isAnswer, text } from "../client/answer.ts";
import { path, send } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { findAt } from "../client/find.ts";
import { audienceFor } from "../client/machine/machine-tokens.ts";
import { addCommand, addGroup, type Context, option } from "../command-line/command.ts";
import { Failure } from "../failure.ts";
import { repeatable } from "../input/fields.ts";
import { REALM_OPTION, type RealmOptions, realmOf } from "../input/realm-scope.ts";
import { decodeUtf8 } from "../input/value.ts";
import type { Io } from "../io/io.ts";
import { note, show, visible } from "../io/output.ts";
import { withProgress } from "../io/progress.ts";
import {
	claimsText,
	type GithubOptions,
	type GitlabOptions,
	githubClaims,
	gitlabClaims,
	type KubernetesOptions,
	kubernetesClaims,
	namedClaims,
} from "./trust-claims.ts";

interface AddOptions extends RealmOptions {
	readonly name?: string;
	readonly issuer?: string;
	readonly audience?: string;
	readonly maxTtl?: string;
	readonly keys?: string;
	readonly caCert?: string;
	readonly change?: boolean;
}

interface OidcOptions extends AddOptions {
	readonly trustDomain?: string;
	readonly claim: readonly string[];
	readonly singleUse?: boolean;
	readonly reusable?: boolean;
}

const GITHUB_ISSUER = "https://token.actions.githubusercontent.com";
const GITLAB_ISSUER = "https://gitlab.com";

const KEYS = option("--keys <file>", "the issuer's keys as a JWK set, for an issuer that the server cannot ask");
const CA_CERT = option("--ca-cert <file>", "PEM of the authority that signed the issuer's certificate");

/** Options of every kind of trust. @param name usual name of the trust */
const common = (name: string): Option[] => [
	REALM_OPTION,
	option("--name <trust>", "the trust's name").default(name),
	option("--audience <text>", "audience of the JWTs (else SVC_AUDIENCE, else the server's address)"),
	option("--max-ttl <duration>", "longest life of a token that it gives, up to 1h"),
	option("--change", "replace the trust of this name; the tokens that it gave end"),
];

const PAIR = "A JWT must match every claim of one of the machine's trusts; there are no patterns.";

/** Adds the commands that make trusts. */
export function addTrustAddCommands(trust: Command, io: Io): void {
	const add = addGroup(trust, "add", "let workloads in as a machine, without a stored token");
	addGithub(add, io);
	addGitlab(add, io);
	addKubernetes(add, io);
	addOidc(add, io);
}

function addGithub(add: Command, io: Io): void {
	addCommand<AddOptions & GithubOptions>(add, io, {
		usage: "github <machine>",
		summary: "trust the jobs of a repository at GitHub Actions",
		details: `Ids stay when a repository is renamed, and never pass to somebody else: \`gh api repos/OWNER/REPOSITORY --jq '.id, .owner.id'\` shows both. Without --environment, only runs that a push started are admitted: one that a stranger's pull request starts can have the main branch's name. ${PAIR}`,
		options: [
			...common("github"),
			option("--repository-id <id>", "the repository's number").makeOptionMandatory(),
			option("--repository-owner-id <id>", "its owner's number").makeOptionMandatory(),
			option("--branch <name>", "only runs on this branch"),
			option("--tag <name>", "only runs on this tag"),
			option("--environment <name>", "only jobs in this environment of GitHub"),
			option("--any-ref", "with --environment, runs on any branch and tag"),
			option("--event <name>", "only runs that this event started (push, unless --environment is given)"),
			option(
				"--workflow <ref>",
				"only jobs of this workflow, such as octo/shop/.github/workflows/a.yml@refs/heads/main",
			),
			option("--issuer <url>", "issuer of GitHub Enterprise").default(GITHUB_ISSUER),
			CA_CERT,
		],
		examples: [
			"svc machine trust add github deploy --realm shop --repository-id 2002 --repository-owner-id 1001 --branch main",
			"svc machine trust add github deploy --realm shop --repository-id 2002 --repository-owner-id 1001 --branch main --environment production",
		],
		run: (context, machine) => addTrust(context, machine, { type: "github", claims: githubClaims(context.options) }),
	});
}

function addGitlab(add: Command, io: Io): void {
	addCommand<AddOptions & GitlabOptions>(add, io, {
		usage: "gitlab <machine>",
		summary: "trust the jobs of a project at GitLab CI",
		details: `Only jobs on a protected branch or tag are admitted. A job has one JWT and may use it again; its tokens end with it. ${PAIR}`,
		options: [
			...common("gitlab"),
			option("--project-id <id>", "the project's number").makeOptionMandatory(),
			option("--branch <name>", "only jobs on this protected branch"),
			option("--tag <name>", "only jobs on this protected tag"),
			option("--environment <name>", "only jobs in this protected environment of GitLab"),
			option("--issuer <url>", "address of your own GitLab").default(GITLAB_ISSUER),
			KEYS,
			CA_CERT,
		],
		examples: [
			"svc machine trust add gitlab deploy --realm shop --project-id 22 --branch main",
			"svc machine trust add gitlab deploy --realm shop --project-id 22 --branch main --issuer https://gitlab.example.com",
		],
		run: (context, machine) => addTrust(context, machine, { type: "gitlab", claims: gitlabClaims(context.options) }),
	});
}

function addKubernetes(add: Command, io: Io): void {
	addCommand<AddOptions & KubernetesOptions>(add, io, {
		usage: "kubernetes <machine>",
		summary: "trust the pods of a service account",
		details: `\`kubectl get serviceaccount NAME -o jsonpath={.metadata.uid}\` shows the uid. Most clusters refuse discovery without a login: give their keys, which \`kubectl get --raw /openid/v1/jwks\` prints, and their issuer, which \`kubectl get --raw /.well-known/openid-configuration\` shows. ${PAIR}`,
		options: [
			...common("kubernetes"),
			option("--service-account-uid <uid>", "the service account's uid").makeOptionMandatory(),
			option("--namespace <name>", "its namespace, too"),
			option("--issuer <url>", "the cluster's issuer").makeOptionMandatory(),
			KEYS,
			CA_CERT,
		],
		examples: [
			"svc machine trust add kubernetes web --realm shop --service-account-uid 0190d1c4-6a3e-4cc1-8f0e-0d7a3f1b2c4d --issuer https://kubernetes.default.svc.cluster.local --keys jwks.json",
		],
		run: (context, machine) =>
			addTrust(context, machine, { type: "kubernetes", claims: kubernetesClaims(context.options) }),
	});
}

function addOidc(add: Command, io: Io): void {
	addCommand<OidcOptions>(add, io, {
		usage: "oidc <machine>",
		summary: "trust another issuer of JWTs, such as AWS, Google, CircleCI or SPIFFE",
		details: `--claim names a claim, or begins with / as a JSON pointer; true, false and plain numbers are taken literally, and '"2"' is the text 2. Name one that never passes to somebody else: the server knows the shared issuers and says what is missing. A JWT is used once, except where the platform hands the same one out again. ${PAIR}`,
		options: [
			...common("oidc"),
			option("--issuer <url>", "the issuer, as its JWTs name it"),
			option("--trust-domain <name>", "a SPIFFE trust domain in place of an issuer, with --keys"),
			repeatable("--claim <name=value>", "a claim that must have this value").makeOptionMandatory(),
			option("--single-use", "accept each JWT once"),
			option("--reusable", "accept a JWT again; its tokens end with it").conflicts("singleUse"),
			KEYS,
			CA_CERT,
		],
		examples: [
			"svc machine trust add oidc batch --realm shop --issuer https://accounts.google.com --claim sub='\"104567890123456789012\"'",
			"svc machine trust add oidc web --realm shop --trust-domain prod.example.com --claim sub=spiffe://prod.example.com/web --keys bundle.json",
		],
		run: (context, machine) => {
			const { claim, trustDomain, singleUse, reusable } = context.options;
			return addTrust(context, machine, {
				claims: namedClaims(claim),
				...(trustDomain === undefined ? {} : { trust_domain: trustDomain }),
				...(singleUse === true ? { single_use: true } : reusable === true ? { single_use: false } : {}),
			});
		},
	});
}

async function addTrust(context: Context<AddOptions>, machine: string, about: Answer): Promise<void> {
	const { name = "", issuer, maxTtl, change } = context.options;
	const realm = realmOf(context);
	const keys = await readTrustedKeys(context.options);
	const client = await connect(context);
	const at = path`realms/${realm}/machines/${machine}/trusts/${name}`;
	const isThere = (await findAt(client, at)) !== undefined;
	if (isThere && change !== true)
		throw new Failure("failed", "the machine has a trust of this name: nothing was changed", {
			hint: "--change replaces it, --name gives this one another name",
		});
	const audience = context.options.audience ?? audienceFor(context.io, client.address);
	const body = {
		...about,
		...(issuer === undefined ? {} : { issuer }),
		audience,
		...(maxTtl === undefined ? {} : { max_ttl: maxTtl }),
		...keys,
	};
	const call = { method: "PUT", path: at, body } as const;
	const answer = await withProgress(context, "asking the issuer", () => send(client, call));
	const message = `${realm}/${machine} trusts JWTs for ${text(answer, "audience")} with ${claimsText(answer)}`;
	await show(context, answer, visible(message));
	if (!isThere)
		await note(
			context,
			visible(`workloads set SVC_MACHINE=${realm}/${machine}; docs/ci.md has a recipe for each platform`),
		);
}

async function readTrustedKeys({ keys, caCert }: AddOptions): Promise<Answer> {
	if (caCert !== undefined) return { ca_cert: decodeUtf8(await readFile(caCert), "the file of --ca-cert") };
	if (keys === undefined) return {};
	try {
		const jwks: unknown = JSON.parse(decodeUtf8(await readFile(keys), "the file of --keys"));
		if (isAnswer(jwks)) return { jwks: { keys: jwks.keys } };
	} catch (error) {
		if (!(error instanceof SyntaxError)) throw error;
	}
	throw new Failure("usage", 'the file of --keys must be a JWK set: {"keys": […]}');
}
