/** Programs by a sign in what they call themselves; the first that fits. Most browsers also call themselves Chrome or Safari. */
const PROGRAMS: readonly (readonly [sign: RegExp, name: string])[] = [
	[/^svc-cli\b/, "svc on the command line"],
	[/\bEdg(?:e|A|iOS)?\//, "Edge"],
	[/\bOPR\//, "Opera"],
	[/\bFirefox\/|\bFxiOS\//, "Firefox"],
	[/\bChrom(?:e|ium)\/|\bHeadlessChrome\/|\bCriOS\//, "Chrome"],
	[/\bSafari\//, "Safari"],
];

const SYSTEMS: readonly (readonly [sign: RegExp, name: string])[] = [
	[/\bAndroid\b/, "Android"],
	[/\b(?:iPhone|iPad)\b/, "iOS"],
	[/\bWindows\b/, "Windows"],
	[/\bMac OS X\b|\bMacintosh\b/, "macOS"],
	[/\bCrOS\b/, "ChromeOS"],
	[/\bLinux\b/, "Linux"],
];

/** Characters of a program that is not known. */
const MAX_SHOWN = 40;

/** Names the program that a session was last used with, as far as it says. */
export function programOf(agent: string): string {
	const find = (names: typeof PROGRAMS) => names.find(([sign]) => sign.test(agent))?.[1];
	const [program, system] = [find(PROGRAMS), find(SYSTEMS)];
	if (program === undefined) return agent === "" ? "unknown" : agent.slice(0, MAX_SHOWN);
	return system === undefined ? program : `${program} on ${system}`;
}
