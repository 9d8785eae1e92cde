/**
 * Tokens that the service gets by itself, with the secret, key or assertion of its configuration. They stay
 * in memory: after a restart the service asks again.
 */
import type { AuthProvider, OAuthClientProvider } from '@modelcontextprotocol/client'
import type { Clock } from '@cairn/models/clock'
import { LeftOut } from '../left-out.ts'
import { oauthFetch } from './fetch.ts'
import type { OAuthServerConfig } from './options.ts'

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
/** A token is replaced this long before it expires. */
const EARLY_MS = 30_000

type Deps = { clock: Clock; learnSecrets: (secrets: readonly string[]) => void }

export function serviceAuth(config: OAuthServerConfig, { clock, learnSecrets }: Deps): AuthProvider {
  let held: { token: string; until: number } | null = null
  let running: Promise<void> | null = null

  async function obtain(scope: string | undefined, resourceMetadataUrl: URL | undefined): Promise<void> {
    const { auth } = await import('@modelcontextprotocol/client')
    const provider = await serviceProvider(config, tokens => {
      learnSecrets([tokens.access_token])
      const until = tokens.expires_in === undefined ? Infinity : clock.now() + tokens.expires_in * 1000
      held = { token: tokens.access_token, until: until - EARLY_MS }
    })
    await auth(provider, {
      serverUrl: config.url,
      fetchFn: oauthFetch(config.url, config.internal),
      ...(scope === undefined ? {} : { scope }),
      ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
    })
  }

  return {
    token: () => Promise.resolve(held !== null && held.until > clock.now() ? held.token : undefined),
    async onUnauthorized({ response }) {
      const { extractWWWAuthenticateParams } = await import('@modelcontextprotocol/client')
      const { scope, resourceMetadataUrl } = extractWWWAuthenticateParams(response)
      const configured = config.scopes.length === 0 ? undefined : config.scopes.join(' ')
      await (running ??= obtain(configured ?? scope, resourceMetadataUrl).finally(() => {
        running = null
      }))
    },
  }
}

type SaveTokens = (tokens: { access_token: string; expires_in?: number }) => void

async function serviceProvider(config: OAuthServerConfig, save: SaveTokens): Promise<OAuthClientProvider> {
  const { client, grant, private_key, assertion } = config
  if (client === null) throw new LeftOut('auth.oauth has a login of the service, which needs client_id')
  if (grant === 'jwt_bearer' && assertion === null)
    throw new LeftOut('auth.oauth.grant is jwt_bearer, which needs assertion_env')
  const { createPrivateKeyJwtAuth } = await import('@modelcontextprotocol/client')
  const never = (): never => {
    throw new Error('[mcp service login] this flow asks no person')
  }
  return {
    redirectUrl: undefined,
    clientMetadata: { client_name: 'Cairn', redirect_uris: [], grant_types: [grantType(grant)] },
    clientInformation: () => client,
    tokens: () => undefined,
    saveTokens: save as OAuthClientProvider['saveTokens'],
    redirectToAuthorization: never,
    saveCodeVerifier: never,
    codeVerifier: never,
    ...(private_key === null
      ? {}
      : {
          addClientAuthentication: createPrivateKeyJwtAuth({
            issuer: client.client_id,
            subject: client.client_id,
            privateKey: private_key.pem,
            alg: private_key.algorithm,
          }),
        }),
    prepareTokenRequest: scope =>
      new URLSearchParams({
        grant_type: grantType(grant),
        ...(grant === 'jwt_bearer' && assertion !== null ? { assertion } : {}),
        ...(scope === undefined ? {} : { scope }),
      }),
  }
}

const grantType = (grant: OAuthServerConfig['grant']): string => (grant === 'jwt_bearer' ? JWT_BEARER : grant)
