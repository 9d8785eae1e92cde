/**
 * Classifies Discord's errors. No message here contains the URL of an interaction, because it holds a token.
 * docs.discord.com/developers/topics/opcodes-and-status-codes
 */
import { DiscordAPIError, HTTPError, RateLimitError } from '@discordjs/rest'
import { ConsumeFailed, SendFailed } from '../adapter.ts'
import { lostCall } from '../lost-call.ts'

const INVALID_FORM = 50035

export function sendFailed(thrown: unknown): SendFailed {
  if (thrown instanceof SendFailed) return thrown
  if (thrown instanceof RateLimitError)
    return new SendFailed('rate_limited', 'Discord answered 429', {
      afterMs: thrown.retryAfter,
      scope: thrown.global ? 'connection' : 'conversation',
    })
  if (thrown instanceof DiscordAPIError) {
    const { status, code, rawError } = thrown
    const said = `Discord answered ${status}: ${'message' in rawError ? rawError.message : code} (${code})`
    if (status === 401) return new SendFailed('unauthorized', said)
    return new SendFailed(code === INVALID_FORM ? 'bad_format' : 'permanent', said)
  }
  if (thrown instanceof HTTPError)
    return new SendFailed(
      thrown.status === 503 ? 'transient' : 'unknown',
      `Discord answered ${thrown.status}`,
    )
  return lostCall('Discord', thrown)
}

const TOKEN = 'Discord refuses the token: reset it under Bot in the developer portal, and enter the new one.'
/** Gateway close codes after which a reconnect would be rejected again. */
const CLOSED: Readonly<Record<number, string>> = {
  4004: TOKEN,
  4010: 'Discord does not know this shard.',
  4011: 'The bot is in more servers than one connection may hear: 2,500.',
  4012: 'Discord does not take this version of its gateway any more: Cairn must be renewed.',
  4013: 'Discord refuses the intents: Cairn must be renewed.',
  4014: 'Switch on the message content intent under Bot in the developer portal of Discord.',
}

/** Null if the client reconnects by itself. */
export function closedForGood(code: number): ConsumeFailed | null {
  const said = CLOSED[code]
  return said === undefined ? null : new ConsumeFailed('unauthorized', said)
}

export function consumeFailed(thrown: unknown): ConsumeFailed {
  if (thrown instanceof ConsumeFailed) return thrown
  const status = thrown instanceof DiscordAPIError || thrown instanceof HTTPError ? thrown.status : null
  if (status === 401) return new ConsumeFailed('unauthorized', TOKEN)
  const said = status === null ? 'Discord does not answer' : `Discord answered ${status}`
  return new ConsumeFailed('lost', said, { cause: thrown })
}
