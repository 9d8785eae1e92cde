/**
 * The signed part of the address for replies. It identifies the conversation and proves that the sender has
 * seen an email of ours; in a direct conversation, whose emails go to one person, it also identifies the
 * sender.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { base32 } from '@cairn/sessions'

const DAY_MS = 24 * 60 * 60_000
/** After this, replies are only recognised by their headers. */
const GOOD_DAYS = 30
const CONVERSATION = 20
const DAY = 4
const MAC = 20
const SHAPE = `([a-z2-7]{${CONVERSATION}})([0-9a-z]{${DAY}})([a-z2-7]{${MAC}})`

export type Tokens = {
  /** The reply address. `who`: the only recipient; null if there are several. */
  address(conversation: string, who: string | null, now: number): string
  /** What a token in one of these addresses proves about an email from `from`; null if none is valid. */
  read(
    addresses: readonly string[],
    from: string,
    now: number,
  ): { conversation: string; proves: boolean } | null
  /** True for any of our addresses, whatever its token. */
  isOurs(address: string): boolean
}

/** `template` has {token} before the @. */
export function createTokens(template: string, secret: string, connectionId: string): Tokens {
  const [before = '', after = ''] = template.toLowerCase().split('{token}')
  const shape = new RegExp(`^${escape(before)}${SHAPE}${escape(after)}$`)
  const macOf = (conversation: string, day: string, who: string): string =>
    base32(createHmac('sha256', secret).update(`${connectionId}/${conversation}/${day}/${who}`).digest(), MAC)
  const isSame = (a: string, b: string): boolean => timingSafeEqual(Buffer.from(a), Buffer.from(b))
  return {
    address(conversation, who, now) {
      const day = Math.floor(now / DAY_MS)
        .toString(36)
        .padStart(DAY, '0')
      return `${before}${conversation}${day}${macOf(conversation, day, who ?? '')}${after}`
    },
    read(addresses, from, now) {
      for (const address of addresses) {
        const [, conversation, day, mac] = shape.exec(address) ?? []
        if (conversation === undefined || day === undefined || mac === undefined) continue
        const age = Math.floor(now / DAY_MS) - Number.parseInt(day, 36)
        if (age < 0 || age > GOOD_DAYS) continue
        const proves = isSame(mac, macOf(conversation, day, from))
        if (proves || isSame(mac, macOf(conversation, day, ''))) return { conversation, proves }
      }
      return null
    },
    isOurs: address => shape.test(address),
  }
}

const escape = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
