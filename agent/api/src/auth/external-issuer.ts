/**
 * Tokens of an external identity provider (config.auth), verified against its published keys. The provider
 * only establishes the identity; whether that person is a user here, and an administrator, is decided here,
 * so the email must be known.
 */
import { createRemoteJWKSet, customFetch, decodeJwt, jwtVerify, type JWTVerifyGetKey } from 'jose'
import { AppError, type Config, limitResponse } from '@cairn/protocol'
import { refusedToken } from './user-tokens.ts'

/** Public-key algorithms only: a secret shared with the provider would let this server forge its tokens. */
const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA']

type ExternalClaims = { email: string; expiresAt: number }
export type ExternalIssuer = {
  /** True if the token names this issuer; nothing is verified yet. */
  claims(token: string): boolean
  verify(token: string, now: number): Promise<ExternalClaims>
}

export function createExternalIssuer({ issuer, audience, jwks_url }: Config['auth']): ExternalIssuer | null {
  if (issuer === undefined) return null
  if (audience === undefined)
    throw new Error(
      '[auth] auth.issuer needs auth.audience: without it the server would accept tokens issued ' +
        'for other services',
    )
  let keys: Promise<JWTVerifyGetKey> | null = null
  const findKeys = (): Promise<JWTVerifyGetKey> => {
    keys ??= discover(issuer, jwks_url).catch((error: unknown) => {
      keys = null
      throw error
    })
    return keys
  }
  return {
    claims(token) {
      try {
        return decodeJwt(token).iss === issuer
      } catch (error) {
        throw refusedToken(error)
      }
    },
    async verify(token, now) {
      try {
        const { payload } = await jwtVerify(token, await findKeys(), {
          algorithms: ALGORITHMS,
          issuer,
          audience,
          currentDate: new Date(now),
          requiredClaims: ['exp', 'email'],
        })
        if (typeof payload['email'] !== 'string' || payload['email_verified'] === false)
          throw new AppError('unauthenticated', 'The token has no verified email address.')
        return { email: payload['email'], expiresAt: (payload.exp as number) * 1000 }
      } catch (error) {
        throw refusedToken(error)
      }
    },
  }
}

/** Limit of a discovery document or a key set; real ones have a few kilobytes. */
const MAX_ANSWER_BYTES = 1024 * 1024
const fetchLimited: typeof fetch = async (url, init) =>
  limitResponse(await fetch(url, init), MAX_ANSWER_BYTES)
const keysAt = (url: string): JWTVerifyGetKey =>
  createRemoteJWKSet(new URL(url), { [customFetch]: fetchLimited })

async function discover(issuer: string, jwksUrl: string | undefined): Promise<JWTVerifyGetKey> {
  if (jwksUrl !== undefined) return keysAt(jwksUrl)
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const response = await fetchLimited(url, { signal: AbortSignal.timeout(5_000) })
  const found = response.ok ? ((await response.json()) as { jwks_uri?: unknown }) : {}
  if (typeof found.jwks_uri !== 'string')
    throw new Error(`[auth] ${url} returned status ${response.status} without a jwks_uri: set auth.jwks_url`)
  return keysAt(found.jwks_uri)
}
