/**
 * The server's variables for engines, by type. They are separate from the kinds because settings are read before those are loaded.
 * Spec: ENGINES › Container orchestrator engine configuration, Certificate authority engine
 */
export const VARIABLES = {
	containerorch: /^(SVC_ORCH_|KUBERNETES_SERVICE_(HOST|PORT)$)/,
	pki: /^SVC_PKI_/,
} as const;

/** Tells whether a variable is for an engine. */
export function isForEngines(name: string): boolean {
	return Object.values(VARIABLES).some((pattern) => pattern.test(name));
}
