#!/bin/sh
# An svc engine in POSIX sh and awk: makes voucher numbers with a check digit, and checks them. The README next to it says where its JSON
# ends. One request a line, one response a line; the end of the input ends the loop, and with it the program.
LC_ALL=C
export LC_ALL

# Reads a request. Prints its method, then kind and text of each wanted member of params, a line each; only "invalid" when the line is no
# JSON object with a method, or its params are no object. RFC 8259, by recursive descent.
READ_REQUEST='
function fail() { print "invalid"; exit }
function blanks() { while (substr(s, at, 1) ~ /[ \t\r\n]/) at++ }
function next_is(c) { blanks(); if (substr(s, at, 1) != c) return 0; at++; return 1 }
function value(path) {
	blanks()
	if (next_is("{")) members(path)
	else if (next_is("[")) elements(path)
	else if (next_is("\"")) { text[path] = string(); kind[path] = "string" }
	else { kind[path] = literal() }
	blanks()
}
function members(path,   name) {
	if (++depth > 32) fail()
	kind[path] = "object"
	if (!next_is("}")) {
		do {
			if (!next_is("\"")) fail()
			name = string()
			if (!next_is(":")) fail()
			value(path SUBSEP name)
		} while (next_is(","))
		if (!next_is("}")) fail()
	}
	depth--
}
function elements(path) {
	if (++depth > 32) fail()
	kind[path] = "list"
	if (!next_is("]")) {
		do value(path SUBSEP "[]"); while (next_is(","))
		if (!next_is("]")) fail()
	}
	depth--
}
# The rest of a string, decoded. What is no printable ASCII is "?", and what is longer than any text of ours is cut off.
function string(   out, part, c) {
	out = ""
	for (;;) {
		part = substr(s, at, 256)
		if (match(part, /^[^"\\\001-\037]+/)) {
			if (length(out) < 256) out = out substr(part, 1, RLENGTH)
			at += RLENGTH
			continue
		}
		c = substr(s, at++, 1)
		if (c == "\"") break
		if (c != "\\") fail()
		out = out escape()
	}
	gsub(/[^ -~]/, "?", out)
	return out
}
function escape(   c, hex) {
	c = substr(s, at++, 1)
	if (c ~ /["\\\/]/) return c
	if (c ~ /[bfnrt]/) return "?"
	hex = tolower(substr(s, at, 4))
	if (c != "u" || hex !~ /^[0-9a-f][0-9a-f][0-9a-f][0-9a-f]$/) fail()
	at += 4
	return hex ~ /^00[2-7]/ ? sprintf("%c", 16 * digit(substr(hex, 3, 1)) + digit(substr(hex, 4, 1))) : "?"
}
function digit(hex) { return index("0123456789abcdef", hex) - 1 }
function literal(   part) {
	part = substr(s, at, 64)
	if (!match(part, /^(true|false|null|-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?)/)) fail()
	part = substr(part, 1, RLENGTH)
	at += RLENGTH
	if (substr(s, at, 1) ~ /[-+.0-9A-Za-z]/) fail()
	return part == "null" ? "absent" : "other"
}
{
	s = $0
	at = 1
	value("")
	if (at <= length(s) || kind[""] != "object" || kind[SUBSEP "method"] != "string") fail()
	if ((SUBSEP "params") in kind && kind[SUBSEP "params"] != "object") fail()
	print text[SUBSEP "method"]
	count = split(wanted, names, " ")
	for (i = 1; i <= count; i++) {
		path = SUBSEP "params" SUBSEP names[i]
		print (path in kind) ? kind[path] : "absent"
		print text[path]
	}
}
'

data() { printf '{"data":%s}\n' "$1"; }
error() { printf '{"error":"%s"}\n' "$1"; }

# Prints 15 random digits. A byte of 250 or more would make some digits likelier than others.
random_digits() {
	od -An -v -tu1 -N128 /dev/urandom | tr -s ' ' '\n' |
		awk 'NF && $1 < 250 && count < 15 { printf "%d", $1 % 10; count++ }'
}

# Prints the digit that makes the number end in 0 under the Luhn algorithm (ISO/IEC 7812-1 annex B).
check_digit() {
	left=$1 weight=2 sum=0
	while [ -n "$left" ]; do
		shorter=${left%?}
		number=$((${left#"$shorter"} * weight))
		sum=$((sum + number - (number > 9 ? 9 : 0)))
		weight=$((3 - weight)) left=$shorter
	done
	echo $(((10 - sum % 10) % 10))
}

# Tells whether a text has 1 to so many characters and none of the others: has_only <text> <most> <pattern of the others>
has_only() {
	case $1 in '' | *$3*) return 1 ;; esac
	[ "${#1}" -le "$2" ]
}

generate() {
	case $prefix_kind in
	absent) prefix=V ;;
	string) ;;
	*) error 'invalid params: prefix must be a string' && return ;;
	esac
	if has_only "$prefix" 10 '[!ABCDEFGHIJKLMNOPQRSTUVWXYZ]'; then
		digits=$(random_digits)
		data "{\"voucher\":\"$prefix-$digits$(check_digit "$digits")\"}"
	else
		error 'prefix must be 1 to 10 capital letters'
	fi
}

is_voucher() {
	letters=${1%%-*} digits=${1#*-}
	has_only "$letters" 10 '[!ABCDEFGHIJKLMNOPQRSTUVWXYZ]' && has_only "$digits" 16 '[!0123456789]' &&
		[ "${#digits}" -eq 16 ] && [ "$letters-$digits" = "$1" ] &&
		[ "${digits%?}$(check_digit "${digits%?}")" = "$digits" ]
}

validate() {
	case $voucher_kind in
	string) ;;
	absent) error 'voucher is required' && return ;;
	*) error 'invalid params: voucher must be a string' && return ;;
	esac
	if is_voucher "$voucher"; then
		data '{"valid":true,"message":"the check digit is right"}'
	else
		data '{"valid":false,"message":"not a voucher of ours"}'
	fi
}

respond() {
	IFS= read -r method
	IFS= read -r prefix_kind
	IFS= read -r prefix
	IFS= read -r voucher_kind
	IFS= read -r voucher
	case $method in
	describe) data '{"name":"voucher","version":"0.1.0","display_name":"Vouchers","description":"Makes voucher numbers with a check digit, and checks them","capabilities":["secret_generation","secret_validation"]}' ;;
	ping) data '{"status":"healthy"}' ;;
	generate) generate ;;
	validate) validate ;;
	invalid) error 'invalid params: the request must be a JSON object with a method, and params an object' ;;
	*) error 'unknown method' ;;
	esac
}

while IFS= read -r line; do
	printf '%s\n' "$line" | awk -v wanted='prefix voucher' "$READ_REQUEST" | respond
done
exit 0
