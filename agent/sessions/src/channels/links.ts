/**
 * Codes that link an account of a messaging platform to a user: created while signed in, sent once in a
 * direct message. The store keeps the hash.
 */
import { createHash, randomInt } from 'node:crypto'
import type { ChannelStore } from '@cairn/log'
import type { Deps } from '../deps.ts'

/** No letters or digits that look alike. */
const ALPHABET = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'
const TTL_MS = 10 * 60_000

const hashOf = (code: string): string =>
  createHash('sha256')
    .update(code.toUpperCase().replaceAll(/[^A-Z0-9]/g, ''))
    .digest('hex')

/** Creates a code for the user and invalidates the previous one. */
export async function createLinkCode(
  { store, now }: Pick<Deps, 'store' | 'now'>,
  { org_id, id }: { org_id: string; id: string },
): Promise<{ code: string; expires_at: number }> {
  const letters = Array.from({ length: 8 }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
  const code = `${letters.slice(0, 4)}-${letters.slice(4)}`
  await store.channels.putPairing({ code_sha256: hashOf(code), org_id, user_id: id, ttl_ms: TTL_MS })
  return { code, expires_at: now() + TTL_MS }
}

/** The user of a code; null if it is invalid. Only the same `used_by` can redeem it again. */
export const redeemLinkCode = (
  { store }: { store: { channels: Pick<ChannelStore, 'usePairing'> } },
  { org_id, code, used_by }: { org_id: string; code: string; used_by: string },
): Promise<string | null> => store.channels.usePairing(org_id, hashOf(code), used_by)
