/**
 * User tokens (contract 5): a signed claim "this is user `sub`, by login `sid`", valid for half an hour. A
 * token issued on the command line has no login: it ends when it expires or its user is disabled.
 */
import { errors, jwtVerify, SignJWT } from 'jose'
import { AppError } from '@cairn/protocol'
import { SIGNING_ALGORITHM, type SigningKey } from './signing-key.ts'

export const ACCESS_TTL_S = 30 * 60
const ISSUER = 'cairn'
const AUDIENCE = 'cairn'

/** `expiresAt` is in epoch milliseconds. */
export type UserClaims = { userId: string; loginId: string | null; expiresAt: number }

export function signUserToken(
  key: SigningKey,
  {
    userId,
    loginId,
    now,
    ttlS = ACCESS_TTL_S,
  }: { userId: string; loginId: string | null; now: number; ttlS?: number },
): Promise<string> {
  const seconds = Math.floor(now / 1000)
  return new SignJWT(loginId === null ? {} : { sid: loginId })
    .setProtectedHeader({ alg: SIGNING_ALGORITHM, typ: 'JWT' })
    .setIssuer(ISSUER)
    .setAudience(AUDIENCE)
    .setSubject(userId)
    .setIssuedAt(seconds)
    .setExpirationTime(seconds + ttlS)
    .sign(key.privateKey)
}

export async function verifyUserToken(key: SigningKey, token: string, now: number): Promise<UserClaims> {
  try {
    const { payload } = await jwtVerify(token, key.publicKey, {
      algorithms: [SIGNING_ALGORITHM],
      issuer: ISSUER,
      audience: AUDIENCE,
      currentDate: new Date(now),
      requiredClaims: ['sub', 'exp'],
    })
    return {
      userId: payload.sub as string,
      loginId: typeof payload['sid'] === 'string' ? payload['sid'] : null,
      expiresAt: (payload.exp as number) * 1000,
    }
  } catch (error) {
    throw refusedToken(error)
  }
}

/** Maps an error of jose to an API error; any other error is a bug. */
export function refusedToken(cause: unknown): unknown {
  if (cause instanceof errors.JWTExpired)
    return new AppError(
      'token_expired',
      'The access token has expired: get a new one with the refresh token.',
      { cause },
    )
  if (cause instanceof errors.JOSEError)
    return new AppError('unauthenticated', 'Invalid access token.', { cause })
  return cause
}
