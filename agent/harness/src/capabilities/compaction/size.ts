/**
 * How much of a model's window a conversation takes: the server's count for the last answer plus an estimate
 * for what came since. Pure. A compaction invalidates the count; then everything is estimated.
 */
import type { ConversationEntry, ConversationMessage, Measured } from '@cairn/state'

const CHARS_PER_TOKEN = 4
/** Typical charge of the servers for an image, independent of its bytes. */
const TOKENS_PER_IMAGE = 1500
/** Role, separators and ids of one message. */
const TOKENS_PER_MESSAGE = 4

export const tokensOfChars = (chars: number): number => Math.ceil(chars / CHARS_PER_TOKEN)
export const tokensOfText = (text: string): number => tokensOfChars(text.length)
export const charsOfTokens = (tokens: number): number => Math.floor(tokens * CHARS_PER_TOKEN)

export function tokensOfMessage(message: ConversationMessage): number {
  const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : []
  const images = message.role === 'user' ? (message.images ?? []) : []
  return (
    TOKENS_PER_MESSAGE +
    tokensOfText(message.content) +
    images.length * TOKENS_PER_IMAGE +
    calls.reduce((sum, call) => sum + tokensOfText(call.function.name + call.function.arguments), 0)
  )
}

export const tokensOfEntries = (entries: readonly ConversationEntry[]): number =>
  entries.reduce((sum, entry) => sum + tokensOfEntry(entry), 0)

/** With the pictures of its result, which a model that sees is shown. */
export const tokensOfEntry = ({ message, pictures = [] }: ConversationEntry): number =>
  tokensOfMessage(message) + pictures.length * TOKENS_PER_IMAGE

/** Tokens of the next request; `overhead` is the part of every request (system prompt and tools). */
export function estimateTokens(
  entries: readonly ConversationEntry[],
  measured: Measured,
  overhead: number,
): number {
  return measured === null || measured.entries > entries.length
    ? overhead + tokensOfEntries(entries)
    : measured.tokens + tokensOfEntries(entries.slice(measured.entries))
}
