import { type Answer, isAnswer } from "../client/answer.ts";
import { Failure } from "../failure.ts";
import { parseSetting } from "../input/fields.ts";

/** Options that name a job of GitHub Actions. */
export interface GithubOptions {
	readonly repositoryId: string;
	readonly repositoryOwnerId: string;
	readonly branch?: string;
	readonly tag?: string;
	readonly anyRef?: boolean;
	readonly environment?: string;
	readonly event?: string;
	readonly workflow?: string;
}

/** Options that name a job of GitLab CI. */
export interface GitlabOptions {
	readonly projectId: string;
	readonly branch?: string;
	readonly tag?: string;
	readonly environment?: string;
}

/** Options that name a service account of a cluster. */
export interface KubernetesOptions {
	readonly serviceAccountUid: string;
	readonly namespace?: string;
}

const DIGITS = /^\d{1,20}$/;
const PATTERN = /[*?{]/;

/** Claims of one job of GitHub Actions. Names of repositories, and `sub`, may be somebody else's later. @throws Failure usage when they are loose */
export function githubClaims(options: GithubOptions): Answer {
	const { repositoryId, repositoryOwnerId, environment, event, workflow, anyRef } = options;
	checkId("--repository-id", repositoryId, "gh api repos/OWNER/REPOSITORY --jq .id");
	checkId("--repository-owner-id", repositoryOwnerId, "gh api repos/OWNER/REPOSITORY --jq .owner.id");
	const ref = refOf(options);
	if (ref === undefined && anyRef !== true)
		throw new Failure("usage", "without a ref, every branch gets in, also one that somebody pushes for it", {
			hint: "give --branch or --tag, or with --environment, whose rules at GitHub name the branches, --any-ref",
		});
	if (ref === undefined && environment === undefined)
		throw new Failure("usage", "--any-ref needs --environment: else every run of the repository gets in");
	// A run that a stranger's pull request starts can have the ref of the main branch.
	const started = event ?? (environment === undefined ? "push" : undefined);
	return exact({
		repository_id: repositoryId,
		repository_owner_id: repositoryOwnerId,
		ref,
		event_name: started,
		environment,
		job_workflow_ref: workflow,
	});
}

/** Claims of one job of GitLab CI, on a protected ref. @throws Failure usage when they are loose */
export function gitlabClaims(options: GitlabOptions): Answer {
	checkId("--project-id", options.projectId, "the project's page shows it");
	const ref_path = refOf(options);
	if (ref_path === undefined)
		throw new Failure("usage", "--branch or --tag is missing: without one, every branch gets in");
	const { environment } = options;
	const protectedEnvironment = environment === undefined ? undefined : "true";
	return exact({
		project_id: options.projectId,
		ref_path,
		ref_protected: "true",
		environment,
		environment_protected: protectedEnvironment,
	});
}

/** Claims of one service account: one that is made again under its name has another uid. @throws Failure usage */
export function kubernetesClaims({ serviceAccountUid, namespace }: KubernetesOptions): Answer {
	return exact({ "/kubernetes.io/serviceaccount/uid": serviceAccountUid, "/kubernetes.io/namespace": namespace });
}

/** Claims as `place=value`; true, false and plain numbers stand for themselves. @throws Failure usage */
export function namedClaims(assignments: readonly string[]): Answer {
	const entries = assignments.map((assignment) => {
		const at = assignment.indexOf("=");
		if (at < 1) throw new Failure("usage", "--claim must be name=value, such as --claim sub=deploy");
		return [assignment.slice(0, at), parseSetting(assignment.slice(at + 1))] as const;
	});
	return exact(Object.fromEntries(entries));
}

/** Writes the claims of a trust as `--claim` takes them: a text that looks like a number or a boolean is in quotes. */
export function claimsText({ claims }: Answer): string {
	const entries = Object.entries(isAnswer(claims) ? claims : {});
	return entries.map(([place, value]) => `${place}=${isPlainText(value) ? value : JSON.stringify(value)}`).join(" ");
}

const isPlainText = (value: unknown) =>
	typeof value === "string" && !value.includes(" ") && parseSetting(value) === value;

function refOf({ branch, tag }: { readonly branch?: string; readonly tag?: string }): string | undefined {
	if (branch !== undefined && tag !== undefined) throw new Failure("usage", "--branch and --tag exclude each other");
	const name = branch ?? tag;
	if (name?.startsWith("refs/") === true)
		throw new Failure("usage", "--branch and --tag take a name such as main, without refs/");
	if (name === undefined) return undefined;
	return branch === undefined ? `refs/tags/${name}` : `refs/heads/${name}`;
}

function checkId(name: string, text: string, hint: string): void {
	if (DIGITS.test(text)) return;
	throw new Failure("usage", `${name} must be a number: a name can pass to somebody else`, { hint });
}

/** Leaves out what is not given. @throws Failure usage for a pattern, which the server would compare as it is */
function exact(claims: Readonly<Record<string, unknown>>): Answer {
	const given = Object.entries(claims).filter(([, value]) => value !== undefined);
	for (const [place, value] of given) {
		if (typeof value === "string" && (value === "" || PATTERN.test(value)))
			throw new Failure("usage", `${place} is compared as it is: it must not be empty, nor contain *, ? or {`);
	}
	return Object.fromEntries(given);
}
