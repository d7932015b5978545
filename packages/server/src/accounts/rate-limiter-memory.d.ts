/** The package's own entry loads a limiter for every database there is: 36 files that nothing here needs. */
declare module "rate-limiter-flexible/lib/RateLimiterMemory.js" {
	export { RateLimiterMemory as default } from "rate-limiter-flexible";
}
