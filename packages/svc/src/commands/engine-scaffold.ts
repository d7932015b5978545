import { readAsset } from "@svc/server/asset";

/** A file of a new engine. */
export interface ScaffoldFile {
	readonly file: string;
	readonly content: string;
	/** True when it can be executed. */
	readonly isProgram: boolean;
}

interface Example {
	/** Usual name of the language. */
	readonly title: string;
	/** Software that the engine's machine must have. */
	readonly needs: string;
	readonly files: Readonly<Record<string, () => Buffer>>;
	/** Command that builds the executable from the sources, in the engine's folder. */
	readonly build?: string;
}

/** A language, as `--lang` names it. */
export type Language = "ts" | "python" | "go" | "sh";

/** Starting points for an engine: examples of the SDK. The files are spelled out, so that the bundler finds them. */
export const LANGUAGES: Readonly<Record<Language, Example>> = {
	ts: {
		title: "TypeScript",
		needs: "Node 24 or newer as `node`; nothing is installed and nothing is compiled",
		files: {
			"plugin.json": () => readAsset(new URL(import.meta.resolve("@svc/plugin-sdk/examples/node/plugin.json"))),
			"voucher.mts": () => readAsset(new URL(import.meta.resolve("@svc/plugin-sdk/examples/node/voucher.mts"))),
		},
	},
	python: {
		title: "Python",
		needs: "Python 3.8 or newer as `python3`",
		files: {
			"plugin.json": () => readAsset(new URL(import.meta.resolve("@svc/plugin-sdk/examples/python/plugin.json"))),
			"voucher.py": () => readAsset(new URL(import.meta.resolve("@svc/plugin-sdk/examples/python/voucher.py"))),
		},
	},
	go: {
		title: "Go",
		needs: "nothing: the program is whole once it is built",
		files: {
			"plugin.json": () => readAsset(new URL(import.meta.resolve("@svc/plugin-sdk/examples/go/plugin.json"))),
			"go.mod": () => readAsset(new URL(import.meta.resolve("@svc/plugin-sdk/examples/go/go.mod"))),
			"main.go": () => readAsset(new URL(import.meta.resolve("@svc/plugin-sdk/examples/go/main.go"))),
		},
		build: "CGO_ENABLED=0 go build -o engine .",
	},
	sh: {
		title: "POSIX sh",
		needs: "`sh`, `awk`, `od` and `tr`",
		files: {
			"plugin.json": () => readAsset(new URL(import.meta.resolve("@svc/plugin-sdk/examples/sh/plugin.json"))),
			"voucher.sh": () => readAsset(new URL(import.meta.resolve("@svc/plugin-sdk/examples/sh/voucher.sh"))),
			"LIMITS.md": () => readAsset(new URL(import.meta.resolve("@svc/plugin-sdk/examples/sh/README.md"))),
		},
	},
};

/** Not the engine's name: next to a program secrets.py, Python no longer finds its own module of that name. */
const PROGRAM = "engine";

/** The files of a new engine: that language's example under the engine's name, and a README with the next steps. */
export function scaffold(name: string, language: Language): ScaffoldFile[] {
	const example = LANGUAGES[language];
	const files = Object.entries(example.files).map(([file, read]) => ({
		file: file.replace("voucher", PROGRAM),
		content: rename(read().toString("utf8"), name),
		isProgram: file.startsWith("voucher."),
	}));
	return [...files, { file: "README.md", content: readme(name, example), isProgram: false }];
}

/** Puts the engine's name where the example has its own; the engine still makes vouchers. */
function rename(text: string, name: string): string {
	return text
		.replace(/("?\bname"?: *")voucher"/g, `$1${name}"`)
		.replace(/("?\bdisplay_name"?: *")Vouchers"/g, `$1${name}"`)
		.replace(/("executable": ")voucher/, `$1${PROGRAM}`)
		.replace(/^module voucher$/m, `module ${name}`);
}

function readme(name: string, { title, needs, build }: Example): string {
	return `# ${name}

An engine for svc in ${title}. As it is, it makes voucher numbers with a check digit, and checks them.
It needs ${needs}.

1. Try it. A case that fails says what the engine did and what to do about it.

   \`\`\`sh
   ${build === undefined ? "" : `${build}\n   `}svc engine test .
   \`\`\`

2. Put what your engine makes into \`generate\`, and what it checks into \`validate\`. An error is shown to the caller word for word: say what to do, and
   quote nothing that was sent.
3. Say in plugin.json what an administrator configures (\`config_schema\`) and which roles there are (\`default_roles\`). Its name, version and
   capabilities are those that \`describe\` answers. The README of @svc/protocol, in the sources of svc, is the whole contract: its chapter _Leases_ is for
   an engine whose credentials end and are revoked (\`dynamic_credentials\`).
4. Install it, on the server's machine. It is tried once more, and its program is pinned by its SHA-256: a changed program is installed again.

   \`\`\`sh
   sudo svc engine install .
   sudo systemctl restart svc
   svc engine list
   svc engine generate ${name} --realm shop
   \`\`\`
`;
}
