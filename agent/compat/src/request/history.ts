/** The history that a client sends with a message, compared with the log. */
import { AppError } from '@cairn/protocol'

export const historyDiffers = (why: string): AppError =>
  new AppError(
    'history_differs',
    `${why} A log is not rewritten: load the messages again, or begin a new chat.`,
  )

/** A message in the log under the name that the client gave it. */
type Known = { id: string; begins: boolean }

/**
 * `held` are the messages of people that a client sends before a new one. It may send the last message alone;
 * otherwise the exchanges from its first message on must be there.
 */
export function checkHistory(known: readonly Known[], held: readonly string[]): void {
  if (held.length === 0) return
  const ids = new Set(known.map(({ id }) => id))
  const unknown = held.find(id => !ids.has(id))
  if (unknown !== undefined) throw historyDiffers(`Message ${JSON.stringify(unknown)} is not in this chat.`)
  const has = new Set(held)
  const from = known.findIndex(({ id }) => id === held[0])
  const missing = known.slice(from).find(({ id, begins }) => begins && !has.has(id))
  if (missing !== undefined) throw historyDiffers(`Message ${JSON.stringify(missing.id)} was removed.`)
}
