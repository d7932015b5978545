/** Namespaces of SAML 2.0 and of XML signatures. */
export const NS = {
	protocol: "urn:oasis:names:tc:SAML:2.0:protocol",
	assertion: "urn:oasis:names:tc:SAML:2.0:assertion",
	metadata: "urn:oasis:names:tc:SAML:2.0:metadata",
	signature: "http://www.w3.org/2000/09/xmldsig#",
	exclusive: "http://www.w3.org/2001/10/xml-exc-c14n#",
} as const;
