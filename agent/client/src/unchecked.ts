/**
 * The client without the schemas of the answers, for a page that its own server delivers: what it asks is of
 * the same release, and the schemas are two fifths of what it would have to load first. It has
 * no streams: those of a page are opened by the hub of all pages (shared.ts).
 */
import { type Call, callWith } from './call.ts'
import { type ClientOptions, sourceOf } from './source.ts'

export { ApiError, ConnectionError } from './failure.ts'

/** The calls of `createClient`; what the server answers is taken for what its route promises. */
export const createUncheckedClient = (options: ClientOptions): { call: Call } => ({
  call: callWith(sourceOf(options), () => undefined),
})
