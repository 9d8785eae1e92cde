/** The client that everything but the page of the same server uses. */
import { checkAnswer } from './check-answer.ts'
import { assembleClient, type CairnClient } from './client.ts'
import type { ClientOptions } from './source.ts'

/** A client of the service at `options.baseUrl`; every answer is checked against its route. */
export const createClient = (options: ClientOptions): CairnClient => assembleClient(options, checkAnswer)
