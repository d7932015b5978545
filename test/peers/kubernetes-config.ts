/** Writes a client configuration, in YAML, with one cluster and one user. @param ca PEM */
export function kubeconfigOf(url: string, ca: string, token: string): string {
	const data = Buffer.from(ca).toString("base64");
	return `apiVersion: v1
kind: Config
current-context: test
contexts: [{ name: test, context: { cluster: test, user: test } }]
clusters: [{ name: test, cluster: { server: "${url}", certificate-authority-data: ${data} } }]
users: [{ name: test, user: { token: "${token}" } }]
`;
}
