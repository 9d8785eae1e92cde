/** The answer of a token endpoint, as an account stores it. */
import type { OAuthTokens } from '@modelcontextprotocol/client'
import type { Tokens } from './account.ts'
import type { OAuthServerConfig } from './options.ts'

type Context = {
  config: Pick<OAuthServerConfig, 'url'>
  now: number
  resource: string | undefined
  /** Granted as requested, unless the answer says otherwise (RFC 6749, section 5.1). */
  requested: string | undefined
}

export const secretsIn = ({ access_token, refresh_token }: Tokens): string[] =>
  refresh_token === undefined ? [access_token] : [access_token, refresh_token]

export function tokensOf(
  { access_token, refresh_token, expires_in, scope, issuer }: OAuthTokens & { issuer?: string | undefined },
  { config, now, resource, requested }: Context,
): Tokens {
  const granted = scope ?? requested
  return {
    access_token,
    issuer: issuer ?? '',
    url: config.url,
    ...(refresh_token === undefined ? {} : { refresh_token }),
    ...(expires_in === undefined ? {} : { expires_at: now + expires_in * 1000 }),
    ...(granted === undefined ? {} : { scope: granted }),
    ...(resource === undefined ? {} : { resource }),
  }
}
