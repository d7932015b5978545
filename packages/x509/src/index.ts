// biome-ignore-start lint/performance/noBarrelFile: the package's only door, an explicit list; pkijs is not loaded by it
export { type Authority, type KeptAuthority, loadAuthority } from "./authority.ts";
export { createAuthority } from "./create-authority.ts";
export { isHostName } from "./host-name.ts";
export { type CertificateRequest, type IssuedCertificate, issueCertificate } from "./issue.ts";
export type { ExtendedKeyUsage } from "./leaf.ts";
export { faultOfName } from "./name.ts";
export type { NewAuthority } from "./new-authority.ts";
export type { Root } from "./root.ts";
export type { RandomBytes } from "./serial.ts";
export {
	certificateFingerprint,
	createServerCertificate,
	type ServerCertificate,
	type ServerCertificateRequest,
} from "./server-certificate.ts";
export { createSigningCertificate, type SigningCertificate } from "./signing-certificate.ts";
export { type Verification, verifyCertificate } from "./verify.ts";
// biome-ignore-end lint/performance/noBarrelFile: the package's only door, an explicit list; pkijs is not loaded by it
