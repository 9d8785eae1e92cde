/**
 * The generations of the protocol: `modern` begins with revision 2026-07-28, and servers of the other need
 * `initialize`.
 */
import { ProtocolError, SdkError, SdkErrorCode } from '@modelcontextprotocol/client'
import { asError, type McpServerConfig } from '@cairn/protocol'

export type Era = 'legacy' | 'modern'

/**
 * A server over HTTP is asked which revisions it has, unless it is known to be one of the older generation. A
 * program is not: many end at a request that they do not know before `initialize`.
 */
export const negotiationOf = (config: McpServerConfig, era: Era | undefined): 'legacy' | 'auto' =>
  (era ?? ('url' in config ? 'modern' : 'legacy')) === 'modern' ? 'auto' : 'legacy'

/** Errors of the SDK while it asks for the revisions of a server. */
const UNDECIDED: ReadonlySet<SdkErrorCode> = new Set([
  SdkErrorCode.RequestTimeout,
  SdkErrorCode.EraNegotiationFailed,
])

/**
 * The generation to try after a failed attempt. A program that refuses `initialize` may know the newer one
 * only, and a server that never answers the request for its revisions only the older one. What was known of a
 * server that cannot be reached may no longer be true.
 */
export function eraAfter(config: McpServerConfig, known: Era | undefined, error: unknown): Era | undefined {
  if (known !== undefined) return undefined
  const { cause } = asError(error)
  if ('url' in config) return cause instanceof SdkError && UNDECIDED.has(cause.code) ? 'legacy' : undefined
  return cause instanceof ProtocolError ? 'modern' : undefined
}
