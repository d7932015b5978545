import * as v from "valibot";
import { AppError } from "../../errors.ts";
import { check, parseJson } from "../../http/input.ts";
import { getMachine, type MachineNeeds } from "../../machines/machines.ts";
import { SetTrust, type TrustType } from "../../trusts/model.ts";
import { listTrusts, setTrust, type TrustNeeds } from "../../trusts/trusts.ts";
import { command } from "../command.ts";
import { address, html } from "../html.ts";
import { type Endpoint, fieldOf, type Moved, type Page, type Visit } from "../page.ts";
import { Misfilled } from "../refused-form.ts";
import { type AskAgainNeeds, askAgain } from "./confirm.ts";
import { machineAddress } from "./machine.ts";
import { inRealm, mayIn } from "./realm-frame.ts";
import { claimsIn } from "./trust-claims.ts";
import { CLAIM_FIELDS, ISSUER_HELP, textField } from "./trust-fields.ts";

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
${textField({ name: "trust", label: "Name of the trust", value: type, help: html`To know it again.` })}${CLAIM_FIELDS[type]}
${textField({ name: "issuer", label: "Issuer of the JWTs", value: issuer, help: ISSUER_HELP[type] })}${textField({ name: "audience", label: "Audience of the JWTs", value: new URL(needs.address()).origin, help: html`What the job or pod asks its platform for: leave it, unless something else asks for another one.` })}
<label for="jwks">The issuer's keys as a JWK set, if the server cannot ask it</label><textarea id="jwks" name="jwks" rows="3" data-again="" autocomplete="off" spellcheck="false"></textarea>
<label for="ca_cert">PEM certificate of the authority that signed the issuer's own, if that is not public</label><textarea id="ca_cert" name="ca_cert" rows="3" data-again="" autocomplete="off" spellcheck="false"></textarea>
<p><button>Trust it</button></p></form>`,
		commands: [command`svc machine trust add ${type} ${name} --realm ${slug}`],
	};
}

const KeySet = v.object({ keys: v.array(v.record(v.string(), v.unknown())) });

async function create(needs: TrustPageNeeds, visit: Visit): Promise<Moved> {
	const [slug = "", name = ""] = visit.params;
	const type = typeOf(visit);
	const asked = await askAgain(needs, visit, address`/console/realms/${slug}/machines/${name}/trust?type=${type}`);
	if (asked !== undefined) return asked;
	const { issuer, audience, jwks = "", ca_cert = "" } = visit.form;
	const place = { slug, name, trust: fieldOf(visit, "trust") };
	const { rows } = await listTrusts(needs, visit.actor, place, { limit: ALL, cursor: undefined });
	if (rows.some((one) => one.name === place.trust))
		throw new Misfilled(
			"trust",
			"the machine has a trust of this name: remove it first, or choose another name",
			"conflict",
		);
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
	if (text.length > MAX_KEYS_CHARACTERS) throw new Misfilled("jwks", "the keys must be at most 16384 bytes of JSON");
	try {
		return v.parse(KeySet, parseJson(Buffer.from(text)));
	} catch {
		throw new Misfilled("jwks", 'the keys must be a JWK set: {"keys": […]}');
	}
}
