import * as v from "valibot";
import { AppError } from "../../errors.ts";
import { check, parseJson } from "../../http/input.ts";
import { getMachine, type MachineNeeds } from "../../machines/machines.ts";
import { SetTrust, type TrustType } from "../../trusts/model.ts";
import { listTrusts, setTrust, type TrustNeeds } from "../../trusts/trusts.ts";
import { command } from "../command.ts";
import { address, type Html, html } from "../html.ts";
import { type Endpoint, fieldOf, type Moved, type Page, type Visit } from "../page.ts";
import { type AskAgainNeeds, askAgain } from "./confirm.ts";
import { machineAddress } from "./machine.ts";
import { inRealm, mayIn } from "./realm-frame.ts";
import { claimsIn } from "./trust-claims.ts";

/** Dependencies of the page that makes a trust. */
export type TrustPageNeeds = MachineNeeds & TrustNeeds & AskAgainNeeds & { address(): string };

const PATH = /^\/console\/realms\/([^/]+)\/machines\/([^/]+)\/trust$/;

/** More trusts than a machine can have. */
const ALL = 100;

/** Making a trust of a machine, by a form for each platform. */
export function trustPage(needs: TrustPageNeeds): Endpoint[] {
	return [
		{ method: "GET", path: PATH, answer: (visit) => trust(needs, visit) },
		{ method: "POST", path: PATH, answer: (visit) => create(needs, visit) },
	];
}

/** Names of the platforms, and the issuers that are known beforehand. */
const PLATFORMS: Readonly<Record<TrustType, readonly [name: string, issuer: string]>> = {
	github: ["GitHub Actions", "https://token.actions.githubusercontent.com"],
	gitlab: ["GitLab CI", "https://gitlab.com"],
	kubernetes: ["Kubernetes", ""],
	oidc: ["another issuer", ""],
};

function typeOf({ query: { type = "" } }: Visit): TrustType {
	if (Object.hasOwn(PLATFORMS, type)) return type as TrustType;
	throw new AppError("bad_request", "type must be github, gitlab, kubernetes or oidc");
}

async function trust(needs: TrustPageNeeds, visit: Visit): Promise<Page> {
	const [slug = "", name = ""] = visit.params;
	const type = typeOf(visit);
	const may = await mayIn(needs, visit.actor, slug);
	await getMachine(needs, visit.actor, slug, name);
	const [platform, issuer] = PLATFORMS[type];
	const shared = inRealm(slug, "Machines", may);
	return {
		...shared,
		above: [...(shared.above ?? []), [`Machine ${name}`, machineAddress({ slug, name })]],
		title: `Trust ${platform}`,
		body: html`<p>A job or pod whose JWT has all of these values gets in as the machine ${name}. Each field is compared exactly: nothing is a pattern.</p>
<form method="post" action="/console/realms/${slug}/machines/${name}/trust?type=${type}">${visit.token}
${field("trust", "Name of the trust", "required", type)}${FIELDS[type]}
${field("issuer", "Issuer, as its JWTs name it", "required", issuer)}${field("audience", "Audience of the JWTs", "required", new URL(needs.address()).origin)}
<label for="jwks">The issuer's keys as a JWK set, if the server cannot ask it</label><textarea id="jwks" name="jwks" rows="3" autocomplete="off" spellcheck="false"></textarea>
<label for="ca_cert">PEM certificate of the authority that signed the issuer's own, if that is not public</label><textarea id="ca_cert" name="ca_cert" rows="3" autocomplete="off" spellcheck="false"></textarea>
<p><button>Trust it</button></p></form>`,
		commands: [command`svc machine trust add ${type} ${name} --realm ${slug}`],
	};
}

/** Makes a text field. @param needed `required`, or empty for a field that may stay empty */
function field(name: string, label: string, needed: "required" | "" = "", value = ""): Html {
	const attributes = html`<label for="${name}">${label}</label>`;
	return needed === ""
		? html`${attributes}<input id="${name}" name="${name}" type="text" value="${value}" autocomplete="off" spellcheck="false">`
		: html`${attributes}<input id="${name}" name="${name}" type="text" value="${value}" required autocomplete="off" spellcheck="false">`;
}

const REF = html`<label for="ref_kind">Only runs on the</label><select id="ref_kind" name="ref_kind"><option value="heads">branch</option><option value="tags">tag</option></select>${field("ref", "Name of the branch or tag", "required")}`;

/** Fields of each platform's claims. */
const FIELDS: Readonly<Record<TrustType, Html>> = {
	github: html`${field("repository_id", "Number of the repository", "required")}${field("repository_owner_id", "Number of its owner", "required")}<p class="quiet">A name can pass to somebody else: <code>gh api repos/OWNER/REPOSITORY --jq '.id, .owner.id'</code> shows the numbers.</p>${REF}${field("environment", "Only jobs in this environment of GitHub; empty: only runs that a push started")}`,
	gitlab: html`${field("project_id", "Number of the project", "required")}${REF}<p class="quiet">Only jobs on a protected branch or tag are admitted.</p>${field("environment", "Only jobs in this protected environment of GitLab, if you name one")}`,
	kubernetes: html`${field("uid", "uid of the service account", "required")}<p class="quiet"><code>kubectl get serviceaccount NAME -o jsonpath={.metadata.uid}</code> shows it.</p>${field("namespace", "Its namespace, too, if you name it")}`,
	oidc: html`<label for="claims">Claims, one a line, such as sub=deploy</label><textarea id="claims" name="claims" rows="3" required autocomplete="off" spellcheck="false"></textarea><p class="quiet">Name one that never passes to somebody else, such as sub or an id.</p>`,
};

const KeySet = v.object({ keys: v.array(v.record(v.string(), v.unknown())) });

async function create(needs: TrustPageNeeds, visit: Visit): Promise<Moved> {
	const [slug = "", name = ""] = visit.params;
	const type = typeOf(visit);
	const asked = await askAgain(needs, visit, address`/console/realms/${slug}/machines/${name}`);
	if (asked !== undefined) return asked;
	const { issuer, audience, jwks = "", ca_cert = "" } = visit.form;
	const place = { slug, name, trust: fieldOf(visit, "trust") };
	const { rows } = await listTrusts(needs, visit.actor, place, { limit: ALL, cursor: undefined });
	if (rows.some((one) => one.name === place.trust))
		throw new AppError("conflict", "the machine has a trust of this name: remove it first, or choose another name");
	const claims = claimsIn(type, visit.form);
	const keys = jwks.trim() === "" ? null : keysIn(jwks);
	const given = { type, issuer, audience, claims, jwks: keys, ca_cert: ca_cert.trim() === "" ? null : ca_cert };
	await setTrust(needs, visit.actor, place, check(SetTrust, given));
	return {
		to: address`/console/realms/${slug}/machines/${name}`,
		message: `The machine trusts ${PLATFORMS[type][0]}.`,
	};
}

/** Characters of a JWK set as it is typed, with room for blanks. */
const MAX_KEYS_CHARACTERS = 32_768;

/** Reads a JWK set. @throws AppError validation_failed */
function keysIn(text: string): v.InferOutput<typeof KeySet> {
	if (text.length > MAX_KEYS_CHARACTERS)
		throw new AppError("validation_failed", "the keys must be at most 16384 bytes of JSON");
	try {
		return v.parse(KeySet, parseJson(Buffer.from(text)));
	} catch {
		throw new AppError("validation_failed", 'the keys must be a JWK set: {"keys": […]}');
	}
}
