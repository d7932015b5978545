import { Failure } from "../failure.ts";

/** An environment variable and its source, such as a secret. */
export interface Variable {
	readonly name: string;
	readonly value: string;
	/** Name of the source, for people. */
	readonly source: string;
	/** True when it is not secret, and so not masked. */
	readonly isPublic?: boolean;
}

/** Options for the names of variables. */
export interface NamingOptions {
	/** Put before each name. */
	readonly prefix?: string;
	/** Turns `-`, `.` and `/` into `_`. */
	readonly mapNames?: boolean;
	/** Accepts names that change how programs run. */
	readonly allowReserved?: boolean;
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Most bytes of one `NAME=value` with its end. See MAX_ARG_STRLEN in execve(2): 32 pages. */
const MAX_VARIABLE_BYTES = 128 * 1024;

// Variables by which the loader, shells and interpreters find code, or that are svc's own. The right to write a secret must not
// include the choice of what runs on other people's machines.
const RESERVED =
	/^(?:PATH|HOME|SHELL|USER|LOGNAME|PWD|IFS|CDPATH|BASH_ENV|BASHOPTS|SHELLOPTS|PS4|PROMPT_COMMAND|GCONV_PATH|LOCPATH|NLSPATH|ZDOTDIR|EDITOR|VISUAL|(?:MAN)?PAGER|LESS(?:OPEN|CLOSE)|CLASSPATH|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|NODE_(?:OPTIONS|PATH|EXTRA_CA_CERTS|REPL_EXTERNAL_MODULE)|PYTHON(?:PATH|HOME|STARTUP|INSPECT|WARNINGS|BREAKPOINT|USERBASE|PYCACHEPREFIX)|PERL5?(?:OPT|LIB|DB)|RUBY(?:OPT|LIB)|OPENSSL_(?:CONF|MODULES|ENGINES)|PHPRC|PHP_INI_SCAN_DIR|LUA_(?:PATH|CPATH|INIT).*|DOTNET_STARTUP_HOOKS|GIT_(?:SSH|EXEC_PATH|EXTERNAL_DIFF|CONFIG|PROXY_COMMAND|ASKPASS|EDITOR|SEQUENCE_EDITOR|PAGER|TEMPLATE_DIR).*|SSH_ASKPASS|(?:LD|DYLD|GLIBC|MALLOC|BASH_FUNC|SVC)_.*)$/;

/**
 * Turns secrets into variables, in their order.
 * @throws Failure naming every key that cannot become a variable, and the option that helps
 */
export function variablesOf(
	secrets: readonly { readonly key: string; readonly value: string }[],
	{ prefix = "", mapNames = false, allowReserved = false }: NamingOptions,
): Variable[] {
	const variables = secrets.map(({ key, value }) => ({
		name: prefix + (mapNames ? key.replace(/[-./]/g, "_") : key),
		value,
		source: key,
	}));
	refuse(
		variables.filter(({ name }) => !NAME.test(name)),
		"cannot be the name of a variable",
		"--map-names replaces - . and / with _, --prefix adds a beginning, --except leaves a key out",
	);
	if (!allowReserved) refuseReserved(variables, "--prefix gives other names, --except leaves a key out");
	checkValues(variables);
	return variables;
}

/** @throws Failure naming every variable that decides what runs; `hint` says what helps besides --allow-reserved */
export function refuseReserved(variables: readonly Pick<Variable, "name" | "source">[], hint: string): void {
	refuse(
		variables.filter(({ name }) => RESERVED.test(name)),
		"would change how programs run",
		`${hint}, --allow-reserved sets it anyway`,
	);
}

/** @throws Failure when two share a name, or a value is impossible for a variable */
export function checkVariables(variables: readonly Variable[]): void {
	const twice = variables.filter(({ name }, index) => variables.findIndex((other) => other.name === name) !== index);
	refuse(
		twice,
		"sets a variable that another secret or lease already sets",
		"--except leaves a key out, --prefix and the name of a lease tell them apart",
	);
}

function checkValues(variables: readonly Variable[]): void {
	refuse(
		variables.filter(({ value }) => value.includes("\0")),
		"holds a NUL character, which no variable can",
		"--except leaves a key out",
	);
	refuse(
		variables.filter(({ name, value }) => Buffer.byteLength(name) + Buffer.byteLength(value) + 2 > MAX_VARIABLE_BYTES),
		"is over 128 KiB, which no variable can be",
		"--except leaves a key out; `svc secret get` writes it to a file",
	);
}

function refuse(variables: readonly Pick<Variable, "source">[], problem: string, hint: string): void {
	if (variables.length > 0)
		throw new Failure("failed", variables.map(({ source }) => `${source} ${problem}`).join("; "), { hint });
}
