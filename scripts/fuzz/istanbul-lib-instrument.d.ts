/** The part that the search uses; the package has no types of its own. */
declare module "istanbul-lib-instrument" {
	export function createInstrumenter(options: { esModules: boolean; compact: boolean; coverageVariable: string }): {
		instrumentSync(code: string, filename: string): string;
	};
}
