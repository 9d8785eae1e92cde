/** The login that a failed request needs, and the repetition of the request after it. */
import { InsufficientScopeError } from '@modelcontextprotocol/client'
import { asError } from '@cairn/protocol'
import type { ConnectionLogin } from './connection-state.ts'
import { decide } from './elicitation.ts'
import { ConsentNeeded, consentNeededIn } from './oauth/consent-needed.ts'
import type { CallContext } from './wrap-tool.ts'

/** Logins that one call may wait for: the server may want more permissions than it first said. */
const MAX_LOGINS = 2

/** The login that would help; null: none would. */
export async function consentFor(
  server: string,
  login: ConnectionLogin | undefined,
  error: unknown,
): Promise<ConsentNeeded | null> {
  const needed = consentNeededIn(error)
  if (needed !== null || login === undefined) return needed
  const refused = [error, asError(error).cause].find(each => each instanceof InsufficientScopeError)
  if (refused === undefined) return null
  const { requiredScope, resourceMetadataUrl } = refused
  const isWider = await login.wantScope(requiredScope ?? '', resourceMetadataUrl?.href)
  return isWider ? new ConsentNeeded(server, login.link) : null
}

/** Repeats a request that needs a login after the person has logged in. */
export async function withLogin<T>(
  server: string,
  login: ConnectionLogin | undefined,
  { ask, signal }: CallContext,
  run: () => Promise<T>,
): Promise<T> {
  for (let logins = 0; ; logins += 1)
    try {
      return await run()
    } catch (error) {
      const consent = await consentFor(server, login, error)
      if (consent === null) throw error
      const question = {
        context: `MCP server "${server}" needs your authorization for this call.`,
        prompt: `Open ${consent.link} and allow access.`,
        yes: 'Done',
      }
      const agreed = logins < MAX_LOGINS && (await decide(question, ask, signal)).action === 'accept'
      if (!agreed || (await login?.isConnected()) !== true) throw new Error(consent.message, { cause: error })
    }
}
