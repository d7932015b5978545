import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { createAuthority } from "../../packages/x509/src/index.ts";
import { startIssuer } from "../peers/issuer.ts";
import { skipWithoutKubectl, startKubernetes } from "../peers/kubernetes.ts";
import { skipWithoutMongo, startMongo } from "../peers/mongo.ts";
import { startOidcProvider } from "../peers/oidc.ts";
import { skipWithoutRedis, startRedis } from "../peers/redis.ts";
import { GROUPS, group, PEOPLE, person, skipWithoutSlapd, startSlapd } from "../peers/slapd.ts";
import { CONTAINER_COMMANDS } from "./container-commands.ts";
import { POSTGRES } from "./postgres-page.ts";

/** The password of everybody on the pages. */
export const PASSWORD = "correct horse battery staple";

/** The systems that a page's commands need. */
export interface Surroundings extends AsyncDisposable {
	/** Local addresses that replace those on the page. */
	readonly addresses?: Readonly<Record<string, string>>;
	/** Variables of the reader's shell, and so of the server. */
	readonly env?: Readonly<Record<string, string>>;
	/** Files in the reader's folder. */
	readonly files?: Readonly<Record<string, string>>;
	/** Answers to the questions of commands, by the beginning of the command. */
	readonly answers?: Readonly<Record<string, readonly string[]>>;
}

/** The way to read a page. */
export interface Page {
	/** The reason to skip the page when something is not installed. */
	readonly skip?: () => Promise<string | false>;
	/** Starts the systems that the page uses. */
	readonly surround?: () => Promise<Surroundings>;
	/** The reader's starting point: nothing, or signed in as the instance admin of a server with the realm `shop`. */
	readonly begins: "with nothing" | "signed in";
	/** Commands typed before the page's first command. */
	readonly before?: readonly string[];
	readonly files?: Readonly<Record<string, string>>;
	readonly answers?: Readonly<Record<string, readonly string[]>>;
	/** Exit codes other than 0, by the beginning of the command. */
	readonly codes?: Readonly<Record<string, number>>;
}

const SERVER =
	'#!/bin/sh\n# A program of the pages: it ends well when it was given what it needs.\ntest -n "$DB_URL"\n';
const SECRETS = [
	"printf %s postgres://shop:hunter2@db.internal/shop | svc secret set DB_URL --realm shop --env prod",
	"printf %s postgres://staging | svc secret set DB_URL --realm shop --env staging",
	"printf %s 1234567890 | svc secret set API_KEY --realm shop --env staging",
];
const BOB = [`echo '${PASSWORD}' | svc register bob@example.com --password-stdin`];

/** Every page with commands, and how to read it. */
export const PAGES: Readonly<Record<string, Page>> = {
	"README.md": {
		begins: "with nothing",
		answers: {
			"npx svc init": ["y", PASSWORD, PASSWORD],
			"npx svc secret set DB_URL": ["postgres://shop:hunter2@db.internal/shop"],
		},
	},
	"docs/install.md": { begins: "signed in" },
	"docs/people.md": {
		begins: "signed in",
		answers: {
			"svc register": [PASSWORD, PASSWORD],
			"svc users disable": ["y"],
			"svc users admin": ["y"],
			"svc realm delete": ["y"],
			"svc machine delete": ["y"],
		},
	},
	"docs/secrets.md": {
		begins: "signed in",
		before: [...SECRETS.slice(1), "printf %s dev | svc secret set DB_URL --realm shop --env dev"],
		files: { server: SERVER, "key.pem": "a key\n", ".env": "PORT=8080\n", ".env.example": "DB_URL=\nPORT=\n" },
		answers: { "svc secret set DB_URL": ["postgres://shop:hunter2@db.internal/shop"], "svc promote": ["y"] },
	},
	"docs/moving-in.md": {
		begins: "signed in",
		files: {
			server: SERVER,
			".env": "PORT=8080\nNAME=shop\n",
			".env.example": "DB_URL=\nPORT=\n",
			"secrets.csv": exported("infisical.csv"),
			"keystore.p12": "\u0000 not really a keystore\n",
			"shop.json": exported("vault-v2.json"),
			"old.json": exported("vault-deleted.json"),
			"tree.yaml": exported("vault-tree.yaml"),
			"infisical.json": exported("infisical.json"),
			"doppler.json": exported("doppler.json"),
		},
		codes: { "svc import old.json": 1 },
	},
	"docs/ci.md": {
		begins: "signed in",
		skip: async () => skipWithoutKubectl,
		surround: startPlatforms,
		before: [...SECRETS, "export KUBECONFIG=$PWD/kubeconfig"],
	},
	"docs/docker.md": {
		begins: "signed in",
		before: [...SECRETS, "svc promote API_KEY --from staging --to prod --realm shop --yes"],
	},
	"docs/services.md": { begins: "signed in", before: SECRETS, files: { server: SERVER } },
	"docs/postgres.md": { ...POSTGRES, answers: { ...POSTGRES.answers, "svc login": [PASSWORD] } },
	"docs/engines.md": {
		begins: "signed in",
		skip: async () => skipWithoutRedis || skipWithoutMongo(),
		surround: startTargets,
	},
	"docs/kubernetes.md": { begins: "signed in", before: SECRETS },
	"docs/sso.md": {
		begins: "signed in",
		skip: async () => skipWithoutSlapd,
		surround: startDirectory,
		before: [...BOB],
	},
	"docs/backup.md": {
		begins: "signed in",
		before: SECRETS,
		answers: { "svc keys rotate": ["y"], "svc restore": ["y"], "svc login": [PASSWORD] },
	},
	"docs/incidents.md": {
		begins: "signed in",
		before: [
			...BOB,
			...SECRETS,
			"SVC_TOKEN=$(svc token create deploy --realm shop --env prod) svc secret get DB_URL --realm shop --env prod",
		],
		answers: {
			"svc revoke": ["y"],
			"svc users disable": ["y"],
			"svc lease revoke-all": ["y"],
			"svc keys rotate": ["y"],
		},
	},
	"docs/metrics.md": { begins: "signed in" },
};

/** Commands of the pages that are not run, by reason. The text is the first line, without a comment at its end. */
export const NOT_RUN: Readonly<Record<string, readonly string[]>> = {
	"asks for a code of an app: test/cli/factors.test.ts": ["svc factor add"],
	"asks for a code that was shown once: test/cli/resets.test.ts, test/cli/invitations.test.ts": [
		"svc reset bob@example.com",
		"svc register carol@example.com --invite -",
	],
	"needs the archive of a release: test/binary tries what is in it": [
		"sha256sum --check svc-0.1.0-linux-x64.tar.xz.sha256",
		"tar -xf svc-0.1.0-linux-x64.tar.xz",
		"cd svc-0.1.0-linux-x64",
		"sudo install svc-0.1.0-linux-x64/svc /usr/local/bin/",
		"svc server",
	],
	"changes the machine: the tests of the installation, of `svc init` and of the service do it": [
		"sudo ./svc install --dry-run",
		"sudo ./svc install --master-key-copy master-key.txt",
		"sudo ./svc install",
		"svc init ada@example.com --realm shop",
		"sudo svc init ada@example.com --setup-code-file /var/lib/svc/setup-code --cacert /var/lib/svc/tls.crt --password-stdin < password",
		"systemctl status svc",
		"sudo systemctl reload svc",
		"sudo systemctl edit svc",
		"sudo systemctl restart svc",
		"sudo systemd-run --pty --uid=svc -p StateDirectory=svc -p StateDirectoryMode=0700 -E SVC_CONFIG=/etc/svc/svc.toml",
		"sudo svc uninstall",
	],
	"needs a stopped server: test/backup/recover.test.ts": ["svc recover ada@example.com"],
	"needs a failover that lost something: test/postgres/accept-loss.test.ts": ["svc nodes accept-loss"],
	"needs a database that another program altered: test/faults tries it": ["svc adopt --again"],
	"takes minutes: test/binary/image.long.test.ts makes the image and starts it": ["npm run image"],
	...CONTAINER_COMMANDS,
	"needs a cluster: test/engines/containerorch*.test.ts and test/run/k8s.test.ts have an API server": [
		"svc k8s --realm shop --role viewer -- kubectl get pods",
		"svc k8s --realm shop --role editor --namespace apps -- helm upgrade shop ./chart",
		"(umask 077; svc engine generate containerorch --realm shop --role viewer --ttl 1h --format kubeconfig > viewer.yaml)",
		"svc eso manifest --realm shop --namespace apps --url https://secrets.example.com | kubectl apply -f -",
		"svc export --realm shop --env prod --format k8s --namespace apps | kubectl apply -f -",
		"kubectl apply -f plugins/containerorch/manifest.yaml",
		"kubectl create namespace svc",
		"kubectl create secret generic svc-master-key --namespace svc --from-file master-key",
		"kubectl apply -f docs/container/kubernetes.yaml",
		"kubectl create secret generic svc-database --namespace svc --from-file database-password --from-file ca.crt",
		"kubectl apply -f docs/container/kubernetes-three.yaml",
		"kubectl exec --namespace svc svc-0 -- svc nodes",
		"kubectl exec --stdin --tty --namespace svc svc-0 -- svc init ada@example.com --setup-code-file /data/svc/setup-code",
		"kubectl exec --namespace svc svc-0 -- svc doctor",
		"kubectl create token svc-containerorch --namespace svc --duration 8760h > token",
		"svc engine set containerorch --allow-realm shop --set api_server=https://10.0.0.1:6443 --set-file ca_cert=ca.pem --secret bearer_token < token",
		"kubectl create rolebinding svc-containerorch --namespace apps --clusterrole svc-containerorch --serviceaccount svc:svc-containerorch",
	],
	"needs the other tool: the page's files are what it exports": [
		"vault kv get -format=json secret/shop > shop.json",
		"vault kv get -format=json secret/old > old.json",
		"medusa export secret > tree.yaml",
		"infisical export --env=prod --format=json --secret-overriding=false > infisical.json",
		"doppler secrets download --project shop --config prd --no-file --format json > doppler.json",
		"walk() {",
	],
	"another test runs it: test/cli/audit.test.ts": ["jq -rs --arg key DB_URL '"],
	"runs the tests themselves": [
		"npm test -- test/histories/*.test.ts",
		"npm test -- test/endpoints.test.ts test/api/matrix.test.ts test/api/restrictions.test.ts test/api/openapi.test.ts",
	],
	"needs a browser: test/sso has one": ["svc login --sso corp"],
};

/** The export of another tool, of those that the client's tests read. */
function exported(name: string): string {
	return readFileSync(new URL(`../../packages/cli/src/fixtures/exports/${name}`, import.meta.url), "utf8");
}

/** Metadata of an identity provider that nobody contacts. */
function metadata(): string {
	const request = "req -x509 -newkey rsa:2048 -nodes -keyout /dev/null -subj /CN=id.example.com";
	const pem = execFileSync("openssl", request.split(" "), { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
	return `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="https://id.example.com/saml">
<IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"><KeyDescriptor use="signing">
<KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data><X509Certificate>${pem.replace(/-----[^-]+-----|\s/g, "")}</X509Certificate></X509Data></KeyInfo>
</KeyDescriptor><SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://id.example.com/sso"/>
</IDPSSODescriptor></EntityDescriptor>`;
}

async function startTargets(): Promise<Surroundings> {
	const ends = new AsyncDisposableStack();
	const redis = await startRedis();
	ends.defer(redis.stop);
	const mongo = await startMongo();
	ends.defer(mongo.stop);
	const authority = await createAuthority({ common_name: "shop CA", organization: "", now: new Date(), randomBytes });
	return {
		files: { "ca.pem": authority.certificate, "ca.key": authority.private_key },
		addresses: { ":6379": `:${redis.port}` },
		answers: {
			"svc engine set keyvalue": [redis.password],
			"svc engine set documentdb": [mongo.uri],
			"svc engine validate totp": ["GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"],
		},
		[Symbol.asyncDispose]: () => ends.disposeAsync(),
	};
}

/** Issuers that stand for GitHub and GitLab, and a cluster with a service account. */
async function startPlatforms(): Promise<Surroundings> {
	const ends = new AsyncDisposableStack();
	const issuer = await startIssuer();
	ends.defer(issuer.stop);
	const kubernetes = await startKubernetes();
	ends.defer(kubernetes.stop);
	await kubernetes.namespace("shop");
	await kubernetes.request("POST", "/api/v1/namespaces/shop/serviceaccounts", { metadata: { name: "web" } });
	const elsewhere = `--issuer ${issuer.issuer} --ca-cert issuer.pem`;
	return {
		addresses: {
			"trust add github": `trust add github ${elsewhere}`,
			"trust add gitlab": `trust add gitlab ${elsewhere}`,
		},
		env: { SVC_TRUSTS_PRIVATE_ISSUERS: "127.0.0.1" },
		files: { kubeconfig: kubernetes.kubeconfig, "issuer.pem": issuer.ca_cert },
		[Symbol.asyncDispose]: () => ends.disposeAsync(),
	};
}

async function startDirectory(): Promise<Surroundings> {
	const entries = person("ada", PASSWORD) + person("grace", PASSWORD) + group("developers", `uid=grace,${PEOPLE}`);
	const ends = new AsyncDisposableStack();
	const slapd = await startSlapd({ entries });
	ends.defer(slapd.stop);
	const corp = await startOidcProvider({ redirect_uris: [], people: {} });
	ends.defer(corp.stop);
	return {
		addresses: {
			"ldaps://ldap.example.com": slapd.ldaps_url,
			"dc=example,dc=com": GROUPS.slice("ou=groups,".length),
			"issuer=https://id.example.com": `issuer=${corp.issuer} --set-file ca_cert=corp.pem`,
		},
		files: { "ca.pem": slapd.ca, "corp.pem": corp.ca_cert, "metadata.xml": metadata() },
		answers: {
			"svc sso set corp": ["a-secret-of-the-provider"],
			"svc sso set directory --type": [slapd.bind_password],
			"svc login --ldap": [PASSWORD],
			"svc login ada": [PASSWORD],
			"svc account link": [PASSWORD, PASSWORD],
		},
		[Symbol.asyncDispose]: () => ends.disposeAsync(),
	};
}
