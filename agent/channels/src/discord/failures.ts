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
    return new SendFailed('rate_limited', 'Discord returned 429', {
      afterMs: thrown.retryAfter,
      scope: thrown.global ? 'connection' : 'conversation',
    })
  if (thrown instanceof DiscordAPIError) {
    const { status, code, rawError } = thrown
    const said = `Discord returned ${status}: ${'message' in rawError ? rawError.message : code} (${code})`
    if (status === 401) return new SendFailed('unauthorized', said)
    return new SendFailed(code === INVALID_FORM ? 'bad_format' : 'permanent', said)
  }
  if (thrown instanceof HTTPError)
    return new SendFailed(
      thrown.status === 503 ? 'transient' : 'unknown',
      `Discord returned ${thrown.status}`,
    )
  return lostCall('Discord', thrown)
}

const TOKEN = 'Discord rejected the token: reset it under Bot in the developer portal, and enter the new one.'
/** Gateway close codes after which a reconnect would be rejected again. */
const CLOSED: Readonly<Record<number, string>> = {
  4004: TOKEN,
  4010: 'Discord rejected the shard.',
  4011: 'The bot is in more than 2,500 servers, the maximum for one connection.',
  4012: 'Discord no longer supports this gateway version: update Cairn.',
  4013: 'Discord rejected the intents: update Cairn.',
  4014: 'Turn on the message content intent under Bot in the Discord developer portal.',
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
  const said = status === null ? 'Discord does not respond' : `Discord returned ${status}`
  return new ConsumeFailed('lost', said, { cause: thrown })
}
