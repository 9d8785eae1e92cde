/** Runs a store's statements by name, returning all rows, one row, or whether a row was affected. */
import type { ChannelStatement } from './channel-sql.ts'

export type ChannelValue = string | number | null
export type AskChannel = (
  statement: ChannelStatement,
  values: readonly ChannelValue[],
) => Promise<Record<string, unknown>[]>

export function createAsking(ask: AskChannel) {
  const all = async <T>(name: ChannelStatement, ...values: ChannelValue[]): Promise<T[]> =>
    (await ask(name, values)).map(row => ({ ...row }) as T)
  const one = async <T>(name: ChannelStatement, ...values: ChannelValue[]): Promise<T | null> =>
    (await all<T>(name, ...values))[0] ?? null
  const act = async (name: ChannelStatement, ...values: ChannelValue[]): Promise<void> =>
    void (await ask(name, values))
  const did = async (name: ChannelStatement, ...values: ChannelValue[]): Promise<boolean> =>
    (await ask(name, values)).length > 0
  return { ask, all, one, act, did }
}
export type Asking = ReturnType<typeof createAsking>
