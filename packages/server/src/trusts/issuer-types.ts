import type { NamedClaims } from "./claim-paths.ts";
import type { Trust, TrustType } from "./model.ts";

/** An issuer, or a type of them, as far as the server knows it. */
interface IssuerType {
	type: TrustType;
	/** Name that people know. */
	name: string;
	/** Claims that a trust must name. Only together do they identify one workload, and nobody else gets them later. */
	needs: readonly string[];
	/** Claims of which a trust must name at least one. */
	oneOf?: readonly string[];
	/** False if the platform issues the same JWT more than once. */
	single_use: boolean;
}

/** Paths of claims. */
const AWS_ACCOUNT = "/https:~1~1sts.amazonaws.com~1/aws_account";
const SERVICE_ACCOUNT = "/kubernetes.io/serviceaccount/uid";

/** Claims of each type, except those that can be recycled: somebody else may get a name, a branch or an address later. Design: §15 */
const TYPES: Readonly<Record<TrustType, IssuerType>> = {
	github: {
		type: "github",
		name: "GitHub",
		needs: ["repository_id", "repository_owner_id"],
		oneOf: ["event_name", "environment"],
		single_use: true,
	},
	gitlab: { type: "gitlab", name: "GitLab", needs: ["project_id", "ref_path", "ref_protected"], single_use: false },
	kubernetes: { type: "kubernetes", name: "Kubernetes", needs: [SERVICE_ACCOUNT], single_use: false },
	oidc: { type: "oidc", name: "this issuer", needs: [], single_use: true },
};

const SPIFFE: IssuerType = { type: "oidc", name: "SPIFFE", needs: ["sub"], single_use: false };

const oidc = (name: string, single_use: boolean, ...needs: string[]): IssuerType => ({
	type: "oidc",
	name,
	needs,
	single_use,
});

/** Issuers that many share, by their address. */
const KNOWN: readonly (readonly [issuer: RegExp, IssuerType])[] = [
	[/^https:\/\/token\.actions\.(githubusercontent\.com|[\w-]+\.ghe\.com)(\/[\w.-]+)?$/, TYPES.github],
	[/^https:\/\/[^/]+\/_services\/token$/, TYPES.github],
	[/^https:\/\/gitlab\.com$/, TYPES.gitlab],
	[/^https:\/\/[\w-]+\.tokens\.sts\.global\.api\.aws$/, oidc("AWS", true, AWS_ACCOUNT, "sub")],
	[/^https:\/\/accounts\.google\.com$/, oidc("Google", false, "sub")],
	[/^https:\/\/(login\.microsoftonline\.com|sts\.windows\.net)\//, oidc("Entra", false, "oid")],
	[/^https:\/\/oidc\.circleci\.com\//, oidc("CircleCI", false, "oidc.circleci.com/project-id")],
	[/^https:\/\/agent\.buildkite\.com$/, oidc("Buildkite", true, "organization_id", "pipeline_id")],
	[
		/^https:\/\/app\.terraform\.io$/,
		oidc("HCP Terraform", false, "terraform_organization_id", "terraform_workspace_id"),
	],
];

/** Claims that say when and for whom a JWT is, not whose it is. */
const PROTOCOL_CLAIMS = ["iss", "aud", "exp", "iat", "nbf", "jti", "typ", "auth_time", "nonce"];

/** Claims that somebody else may have later, or may choose. */
const RECYCLED = [
	...["email", "email_verified", "name", "preferred_username", "nickname", "given_name", "family_name", "username"],
	...["user_login", "user_email", "login", "groups", "roles", "scope", "scp", "acr", "amr"],
	...["repository", "repository_owner", "project_path", "namespace_path", "ref", "environment", "branch", "actor"],
];

/** Finds the type of an issuer. @returns undefined if it is known as another type than the given one */
export function issuerTypeOf(
	issuer: string | null,
	type: TrustType | null,
): (Pick<IssuerType, "type" | "single_use"> & Partial<IssuerType>) | undefined {
	if (issuer === null) return type === null || type === "oidc" ? SPIFFE : undefined;
	const known = KNOWN.find(([pattern]) => pattern.test(issuer))?.[1];
	if (known === undefined) return TYPES[type ?? "oidc"];
	return type === null || type === known.type ? known : undefined;
}

/** Returns the claim that a JSON pointer of one part names, so that no spelling gets around a rule; any other path as it is. */
function memberOf(path: string): string {
	return /^\/[^/]*$/.test(path) ? path.slice(1).replaceAll("~1", "/").replaceAll("~0", "~") : path;
}

/**
 * Finds why claims are ambiguous: which ones a trust lacks to mean only one workload.
 * @returns a sentence without anything that was received; undefined when it lacks none
 * Design: §15
 */
export function ambiguityOf({ issuer, type }: Pick<Trust, "issuer" | "type">, claims: NamedClaims): string | undefined {
	const paths = Object.keys(claims);
	if (paths.some((path) => PROTOCOL_CLAIMS.includes(memberOf(path))))
		return `claims cannot name ${PROTOCOL_CLAIMS.join(", ")}: issuer and audience have fields of their own`;
	const { name = "this issuer", needs = [], oneOf = [] } = issuerTypeOf(issuer, type) ?? TYPES[type];
	const lacks = needs.filter((path) => typeof claims[path] !== "string");
	const lacksOne = oneOf.length > 0 && !oneOf.some((path) => typeof claims[path] === "string");
	if (lacks.length > 0 || lacksOne) {
		const wanted = [...needs, ...(oneOf.length > 0 ? [`one of ${oneOf.join(" and ")}`] : [])];
		return `the trust is too loose: for ${name}, claims must name ${wanted.join(", ")}, each as a text`;
	}
	if (type === "gitlab" && claims.ref_protected !== "true")
		return 'the trust is too loose: ref_protected must be the text "true"';
	if (paths.every((path) => typeof claims[path] === "boolean" || RECYCLED.includes(memberOf(path))))
		return "the trust is too loose: claims must name one that never passes to somebody else, such as sub or an id";
	return undefined;
}
