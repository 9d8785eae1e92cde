/** The OAuth part of a server's configuration, with the values of its variables. */
import type { McpServerConfig } from '@cairn/protocol'
import type { Environment } from '../transport.ts'

type HttpServerConfig = Extract<McpServerConfig, { url: string }>

export type OAuthServerConfig = {
  url: string
  per: 'user' | 'shared'
  grant: 'authorization_code' | 'client_credentials' | 'jwt_bearer'
  scopes: readonly string[]
  internal: readonly string[]
  /** A client that the operator registered; null: the service registers itself. */
  client: { client_id: string; client_secret?: string; issuer?: string } | null
  client_metadata_url: string | null
  /** For `private_key_jwt`: a PEM key; null: a secret, or none. */
  private_key: { pem: string; algorithm: string } | null
  /** For `jwt_bearer`: the assertion. */
  assertion: string | null
}

/** Null: the server has no such part. Throws the name of a variable that is not set. */
export function oauthOf(config: McpServerConfig, env: Environment): OAuthServerConfig | null {
  if (!('url' in config) || config.auth === undefined) return null
  const { url, auth } = config as HttpServerConfig & { auth: NonNullable<HttpServerConfig['auth']> }
  const { oauth } = auth
  const read = (name: string | undefined): string | null => {
    if (name === undefined) return null
    const value = env[name]
    if (value === undefined)
      throw new Error(`the environment variable ${name}, which auth.oauth names, is not set`)
    return value
  }
  const secret = read(oauth.client_secret_env)
  const pem = read(oauth.private_key_env)
  return {
    url,
    per: oauth.per,
    grant: oauth.grant,
    scopes: oauth.scopes,
    internal: oauth.internal,
    client:
      oauth.client_id === undefined
        ? null
        : {
            client_id: oauth.client_id,
            ...(secret === null ? {} : { client_secret: secret }),
            ...(oauth.issuer === undefined ? {} : { issuer: oauth.issuer }),
          },
    client_metadata_url: oauth.client_metadata_url ?? null,
    private_key: pem === null ? null : { pem, algorithm: oauth.algorithm },
    assertion: read(oauth.assertion_env),
  }
}
