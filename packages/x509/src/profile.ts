/* Rules of RFC 5280 for any certificate that OpenSSL does not enforce. The further rules of public authorities are not here. */
import {
	type CertificateFields,
	extensionValue,
	findExtension,
	hasUnknownCriticalExtension,
} from "./certificate-fields.ts";
import { readElements, readItems } from "./der-reader.ts";
import { NAME_KIND, readGeneralNames } from "./general-name.ts";
import { isHostName } from "./host-name.ts";
import { EXTENSION } from "./oid.ts";

type IsBroken = (fields: CertificateFields, isAuthority: boolean) => boolean;

/** keyCertSign is bit 5 of a BIT STRING, whose first byte counts the unused bits. */
const CERTIFICATE_SIGNING = 0b0000_0100;

const RULES: readonly (readonly [fault: string, isBroken: IsBroken])[] = [
	["has extensions, and is not of version 3", ({ version, extensions }) => version !== 3 && extensions.length > 0],
	["has a critical extension that is not understood", hasUnknownCriticalExtension],
	["has an empty extended key usage", (fields) => isEmptyList(fields, EXTENSION.extendedKeyUsage)],
	["has an empty list of alternative names", (fields) => isEmptyList(fields, EXTENSION.subjectAlternativeName)],
	["has neither a subject nor critical alternative names", isNameless],
	["has a DNS name that is not a host name", hasBadHostName],
	["may sign certificates, and is not one of an authority", (fields, isAuthority) => !isAuthority && maySign(fields)],
	[
		"has name constraints, and is not one of an authority",
		(fields, isAuthority) => !isAuthority && findExtension(fields, EXTENSION.nameConstraints) !== undefined,
	],
];

/**
 * Finds the fault of a certificate by itself, as the end of a sentence; undefined when there is none.
 * @param isAuthority whether its basic constraints and its key usage let it sign certificates
 * @throws Error when one of its extensions is not DER
 */
export function faultOfProfile(fields: CertificateFields, isAuthority: boolean): string | undefined {
	return RULES.find(([, isBroken]) => isBroken(fields, isAuthority))?.[0];
}

function isEmptyList(fields: CertificateFields, id: Buffer): boolean {
	const { value } = findExtension(fields, id) ?? {};
	return value !== undefined && readItems(value).length === 0;
}

/** RFC 5280 §4.1.2.6. */
function isNameless(fields: CertificateFields): boolean {
	const hasSubject = readItems(fields.subject).length > 0;
	return !(hasSubject || findExtension(fields, EXTENSION.subjectAlternativeName)?.isCritical);
}

function hasBadHostName(fields: CertificateFields): boolean {
	const names = readGeneralNames(extensionValue(fields, EXTENSION.subjectAlternativeName));
	return names.some(({ kind, content }) => kind === NAME_KIND.dns && !isHostName(content.toString("latin1")));
}

function maySign(fields: CertificateFields): boolean {
	const [usage] = readElements(extensionValue(fields, EXTENSION.keyUsage));
	return ((usage?.content[1] ?? 0) & CERTIFICATE_SIGNING) !== 0;
}
