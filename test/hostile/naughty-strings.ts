/** Strings that have broken programs before, grouped by what they are mistaken for. None has more bytes than a name may have. */
export const NAUGHTY_STRINGS: readonly string[] = [
	// Reserved words and the literals of many languages.
	...[
		"undefined",
		"undef",
		"null",
		"NULL",
		"nil",
		"None",
		"true",
		"FALSE",
		"NaN",
		"Infinity",
		"hasOwnProperty",
		"then",
	],
	...[
		"__proto__",
		"constructor",
		"prototype",
		"toString",
		"valueOf",
		"__defineGetter__",
		"CON",
		"aux.txt",
		"\\N",
		"(null)",
	],
	// Numbers, and look-alikes of numbers.
	...["0", "-0", "00", "1.00", "$1.00", "1/2", "1E2", "1e400", "-1", "0x0", "0b1", "1_000", "1,000.00", "0.0000001"],
	...["9007199254740993", "123456789012345678901234567890", "١٢٣", "Ⅷ", "½", "²", "--1", "+1", "1#INF", "2026-02-31"],
	// Punctuation, quotes and brackets.
	...[
		"'",
		'"',
		"''",
		'""',
		"'\"'",
		"`",
		"\\",
		"\\\\",
		"\\'",
		"\\u0041",
		"&#65;",
		"%41",
		'<>?:"{}|_+',
		",./;'[]\\-=",
		"!@#$%^&*()`~",
	],
	// Scripts, accents, combinations.
	...[
		"Ω≈ç√∫˜µ≤≥÷",
		"åß∂ƒ©˙∆˚¬…æ",
		"ЁЂЃЄЅІЇЈЉЊ",
		"田中さんにあげて下さい",
		"찦차를 타고 온 펲시맨",
		"和製漢語",
		"ᚠᛇᚻ᛫ᛒᛦᚦ",
		"สวัสดี",
	],
	...["e\u0301", "\u00e9", "ﬁ", "ｆｕｌｌ", "İ", "ı", "ß", "ẞ", "ſ", "Å\u212b", "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘!", "\u0300leading accent"],
	// Emoji, flags, characters beyond the basic plane.
	...[
		"🔑",
		"👩‍👩‍👧‍👦",
		"👾🙇💁🙅",
		"🇩🇪🇫",
		"✋🏿💪🏿",
		"0️⃣1️⃣",
		"𝕋𝕙𝕖",
		"𠜎𠜱",
		"\u{10ffff}",
		"\u{1f3f4}\u{e0067}\u{e007f}",
	],
	// Direction, invisible characters, marks and separators.
	...[
		"ثم نفس سقطت",
		"בְּרֵאשִׁית",
		"\u202etest\u202c",
		"\u2066test\u2069",
		"\u200f\u200e",
		"a\u200bb",
		"\u200b",
		"a\u00adb",
		"\u2060",
		"\ufeff",
	],
	...[
		"\ufeffstart",
		"end\ufeff",
		"\ufffe",
		"\uffff",
		"\ufdd0",
		"a\u2028b",
		"a\u2029b",
		"\u00a0",
		"\u3000",
		"a\u1680b",
		"\u180e",
		"\ufff9\ufffb",
	],
	// Control characters, line ends, terminals.
	...[
		"a\u0000b",
		"\u0000",
		"\u0001\u0002\u0003",
		"a\tb",
		"a\nb",
		"a\r\nb",
		"a\rb",
		"\u0007",
		"\u001b[31mred\u001b[0m",
		"\u001b]0;title\u0007",
	],
	...["\u007f", "\u0080\u0085\u009f", "\b\b\b", "\u000b\u000c", " ", "  leading", "trailing  ", "\n", "a\u0000"],
	// Lone surrogates.
	...["\ud800", "a\udfffb", "\udc00\ud800"],
	// SQL.
	...[
		"1;DROP TABLE users",
		"1'; DROP TABLE users-- 1",
		"' OR 1=1 -- 1",
		"' OR '1'='1",
		"%",
		"_",
		"'; SELECT pg_sleep(9); --",
		"a' || 'b",
	],
	// HTML, scripts, templates.
	...[
		"<script>alert(1)</script>",
		'"><img src=x onerror=alert(1)>',
		"javascript:alert(1)",
		"<!--",
		"]]>",
		"&lt;b&gt;",
		"<svg/onload=1>",
	],
	...[
		"{{7*7}}",
		"\u0024{7*7}",
		"#{7*7}",
		"<%= 7*7 %>",
		"{% if %}",
		"\u0024{jndi:ldap://localhost/a}",
		"*{7}",
		"=1+1",
		"@SUM(1)",
		'=cmd|"/c calc"!A1',
	],
	// Shell, files, format strings, headers.
	...[
		"$HOME",
		"$(touch pwned)",
		"`touch pwned`",
		"; ls -la",
		"| cat /etc/passwd",
		"&& true",
		"../../etc/passwd",
		"..\\..\\win.ini",
		"/dev/null",
	],
	...[
		"%s%s%s%n",
		"%d",
		"%x%p",
		"{0}",
		"%00",
		"%0d%0aSet-Cookie: a=b",
		"a\r\nSet-Cookie: a=b",
		"file:///etc/passwd",
		"http://a/%%30%30",
	],
	// Documents of other formats.
	...[
		'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>',
		'{"a":1}',
		"[1,2",
		"a: &b *b",
		"---",
		"*/",
		"//",
	],
	// Near copies of this server's own values.
	...[
		"svc:v1:",
		"svc:v1:AAAA",
		"svc_0000000000000000000000000000000000000000000000",
		"Bearer x",
		"eyJhbGciOiJub25lIn0.e30.",
	],
	// As long as a name can be.
	...["x".repeat(255), "🔑".repeat(60), "e\u0301".repeat(80)],
];

/** Tells whether UTF-8 can encode a string: a lone surrogate it cannot. */
export function isText(text: string): boolean {
	return text.isWellFormed();
}

/** Tells whether nobody has a reason to refuse the string as a name: text without control characters that is not blank. */
export function isPlain(text: string): boolean {
	return isText(text) && !/\p{Cc}/u.test(text) && text.trim() === text && /[\p{L}\p{N}\p{P}\p{S}]/u.test(text);
}
