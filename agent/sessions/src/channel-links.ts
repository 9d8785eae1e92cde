/**
 * Codes that tie an account of a messaging platform to a user: asked for while signed in, sent once in a
 * direct message. A code is stored as its hash.
 */
import { createHash, randomInt } from 'node:crypto'
import type { ChannelStore } from '@cairn/log'
import type { Deps } from './deps.ts'

/** Without letters and digits that look alike. */
const ALPHABET = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'
const TTL_MS = 10 * 60_000

const hashOf = (code: string): string =>
  createHash('sha256')
    .update(code.toUpperCase().replaceAll(/[^A-Z0-9]/g, ''))
    .digest('hex')

/** A new code of this user; the one before is not valid any more. */
export async function createLinkCode(
  { store, now }: Pick<Deps, 'store' | 'now'>,
  { org_id, id }: { org_id: string; id: string },
): Promise<{ code: string; expires_at: number }> {
  const letters = Array.from({ length: 8 }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
  const code = `${letters.slice(0, 4)}-${letters.slice(4)}`
  await store.channels.putPairing({ code_sha256: hashOf(code), org_id, user_id: id, ttl_ms: TTL_MS })
  return { code, expires_at: now() + TTL_MS }
}

/** The user of a code; null where it is none. The same `used_by` finds it again, nobody else. */
export const redeemLinkCode = (
  { store }: { store: { channels: Pick<ChannelStore, 'usePairing'> } },
  { org_id, code, used_by }: { org_id: string; code: string; used_by: string },
): Promise<string | null> => store.channels.usePairing(org_id, hashOf(code), used_by)
