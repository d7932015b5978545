/** The package's own entry loads a limiter for every database there is: 36 files that nothing here needs. */
declare module "rate-limiter-flexible/lib/RateLimiterMemory.js" {
	// biome-ignore lint/style/noDefaultExport: it is CommonJS
	export { RateLimiterMemory as default } from "rate-limiter-flexible";
}
