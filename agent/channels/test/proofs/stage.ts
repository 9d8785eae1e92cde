/** What a proof must know of a platform to run the same test on all of them. */
import type { Channels } from '@cairn/channels'
import type { ConfigInput } from '@cairn/protocol'
import { AppError } from '@cairn/protocol'
import { expect } from 'vitest'
import { derivedId } from '@cairn/sessions'
import { type Bench, ORG } from '../bench.ts'

export type Settings = NonNullable<ConfigInput['channels']>[string]
/** `key` identifies copies for the platform or the receiver; null: nothing does. */
export type Shown = { text: string; key: string | null }
/**
 * How often a part may arrive if its outcome was lost.
 * - `once`: one
 * - `one_key`: several with one key, of which people see one
 * - `flagged`: two, and its row says so; for the disclosure two without a flag
 */
export type Copies = 'once' | 'one_key' | 'flagged'

export type Stage = {
  settings: Settings
  env: Record<string, string>
  copies: Copies
  /** The sender to whom an account can be linked. Null: within the connection. */
  person: { workspace: string | null; platform_user_id: string }
  /** A person writes: the platform stores the message until it is acknowledged. */
  say(text: string): void | Promise<void>
  /** The platform delivers unacknowledged messages in order, up to the first that is rejected. */
  bring(channels: Channels): Promise<void>
  /** In the order in which people see it. */
  shown(channels: Channels): Promise<Shown[]> | Shown[]
  /** Everything that reached the platform, as text. */
  heard(channels: Channels): Promise<string> | string
  /** Calls that the platform did not make, or made long ago; empty if the platform makes no calls. */
  forged: readonly Forged[]
  /** Delivers an accepted message again, at each call; null: the platform makes no calls. */
  again: ((channels: Channels) => Promise<void>) | null
  /** A person clicks a button of this value in their own conversation; null: the platform has no buttons. */
  pressElsewhere: ((value: string, channels: Channels) => void | Promise<void>) | null
  /** A sender claims to be the person; null: the platform authenticates every sender. */
  spoof: ((text: string) => void) | null
  /** The next calls fail, in each way that the platform knows. */
  fail(): void
  /** The time to advance while waiting. */
  tickMs: number
  /** Whether Cairn polls the platform, which must have seen Cairn once. */
  asks: boolean
  close(): Promise<void>
}

export type Signed = { headers: Headers; raw: Uint8Array }
export type Forged = Signed & { what: string }

/** Every stage has this one connection. */
export const NAME = 'talk'
export const CONNECTION_ID = derivedId('channel', ORG, NAME)
export const call = (channels: Channels, signed: Signed): Promise<Response> =>
  channels.handle({
    method: 'POST',
    path: `/v1/channels/${CONNECTION_ID}/webhook`,
    query: new URLSearchParams(),
    signal: new AbortController().signal,
    address: '192.0.2.1',
    headers: signed.headers,
    raw: signed.raw,
  })

export const DISCLOSURE = 'an AI system'

/** Events of a webhook: each stays until a call with it was answered with 200. */
export function pendingCalls<T>(sign: (event: T) => Signed) {
  const pending: T[] = []
  const taken: T[] = []
  return {
    add: (event: T): void => void pending.push(event),
    async bring(channels: Channels): Promise<void> {
      for (let event = pending[0]; event !== undefined; event = pending[0]) {
        if ((await call(channels, sign(event))).status !== 200) return
        pending.shift()
        taken.push(event)
      }
    },
    async again(channels: Channels): Promise<void> {
      for (const event of taken) await call(channels, sign(event))
    },
  }
}

/**
 * A signed call without each of its headers, with each one changed and, where it is signed, with a changed
 * body.
 */
export function forgeriesOf(
  { headers, raw }: Signed,
  names: readonly string[],
  isBodySigned: boolean,
): Forged[] {
  const withHeaders = (what: string, change: (headers: Headers) => void): Forged => {
    const changed = new Headers(headers)
    change(changed)
    return { what, headers: changed, raw }
  }
  const altered = Buffer.from(raw)
  altered[altered.length >> 1]! ^= 1
  return [
    ...names.flatMap(name => [
      withHeaders(`without ${name}`, given => given.delete(name)),
      withHeaders(`an empty ${name}`, given => given.set(name, '')),
      withHeaders(`another ${name}`, given => given.set(name, `${given.get(name)}0`)),
    ]),
    ...(isBodySigned ? [{ what: 'another body', headers, raw: altered }] : []),
  ]
}
/** For platforms that make no calls. */
export const UNCALLED = { forged: [], again: null } as const

export const nothing = async (): Promise<void> => undefined

/** Starts once, so that the platform knows Cairn: later messages are for Cairn. */
export async function meet({ start, store }: Bench, { asks }: Stage): Promise<void> {
  if (!asks) return
  const first = await start()
  const connection = async () => (await store.channels.listConnections('org_1'))[0]
  await expect.poll(async () => (await connection())?.state).toBe('live')
  await first.stop()
}

/** The outcome of the request handler: its status, or the error code of its rejection. */
export const outcome = (answering: Promise<Response>): Promise<number | string> =>
  answering.then(
    ({ status }) => status,
    (error: unknown) => (error instanceof AppError ? error.code : String(error)),
  )
