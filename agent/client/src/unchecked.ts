/**
 * The client without the response schemas, for a page that its own server delivers: both are of the same
 * release, and the schemas would be two fifths of what the page loads first. It has no streams: all pages
 * share those of the hub (shared.ts).
 */
import { type Call, callWith } from './call.ts'
import { type ClientOptions, sourceOf } from './source.ts'

export { ApiError, ConnectionError } from './failure.ts'

/** The calls of `createClient`, without checking the answers. */
export const createUncheckedClient = (options: ClientOptions): { call: Call } => ({
  call: callWith(sourceOf(options), () => undefined),
})
