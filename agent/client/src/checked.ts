/** The client for all uses but a page served by the same server, which uses unchecked.ts. */
import { checkAnswer } from './check-answer.ts'
import { assembleClient, type CairnClient } from './client.ts'
import type { ClientOptions } from './source.ts'

/** Creates a client of the service at `options.baseUrl`; it checks every answer against its route. */
export const createClient = (options: ClientOptions): CairnClient => assembleClient(options, checkAnswer)
