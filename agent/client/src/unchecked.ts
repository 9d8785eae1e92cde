/**
 * The client without the schemas of the answers, for a page that its own server delivers: what it asks is of
 * the same release, and the schemas are two fifths of what it would have to load first.
 */
import { assembleClient, type CairnClient, type ClientOptions } from './client.ts'

export { ApiError, ConnectionError } from './failure.ts'

/** As `createClient`; what the server answers is taken for what its route promises. */
export const createUncheckedClient = (options: ClientOptions): CairnClient =>
  assembleClient(options, () => undefined)
