const NUMBER = 918_273_645;
const LONG = 300_000;

/** Values that are visible in a message that repeats them. */
export const CANARIES: Record<string, unknown> = {
	"a string": "CANARY",
	"a string of blanks and controls": " \u0000CANARY\n\t",
	"a string of other letters": "ＣＡＮＡＲＹ CANARY é🔑",
	"a string of markup": '<CANARY a="b">',
	"half a character": "CANARY\ud800",
	"an e-mail with two at signs": "CANARY@CANARY@CANARY",
	"a key with dots": "../CANARY",
	"a key with blanks": "CANARY/ /CANARY",
	"a very long string": "CANARY".repeat(LONG / 6),
	"a long password": `CANARY${"x".repeat(1030)}`,
	"almost an instant": "2030-02-30T00:00:00ZCANARY",
	"a number": NUMBER,
	"a negative number": -NUMBER,
	"a broken number": NUMBER + 0.5,
	"a large number": NUMBER * 1e20,
	true: true,
	"a list": ["CANARY", NUMBER],
	"a list of lists": [[["CANARY"]]],
	"an object": { CANARY: "CANARY", value: NUMBER },
	"an object like a prototype": { __proto__: { CANARY: 1 }, constructor: "CANARY" },
	null: null,
};

/** Matches their traces in a message. */
export const TRACE = new RegExp(`CANARY|ＣＡＮＡＲＹ|${NUMBER}`, "i");
