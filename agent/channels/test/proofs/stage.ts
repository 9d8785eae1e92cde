/** What a proof must know of a platform to try the same on all of them. */
import type { Channels } from '@cairn/channels'
import type { ConfigInput } from '@cairn/protocol'
import { AppError } from '@cairn/protocol'
import { expect } from 'vitest'
import { derivedId } from '@cairn/sessions'
import { type Bench, ORG } from '../bench.ts'

export type Settings = NonNullable<ConfigInput['channels']>[string]
/** `key` is what the platform, or whoever reads, knows copies by; null: by nothing. */
export type Shown = { text: string; key: string | null }
/**
 * What there may be of a part whose outcome was lost.
 * once     one
 * one_key  several with one key, of which people see one
 * flagged  two, and then its row says so; of the disclosure two without
 */
export type Copies = 'once' | 'one_key' | 'flagged'

export type Stage = {
  settings: Settings
  env: Record<string, string>
  copies: Copies
  /** Who writes, as an account is linked to them. Null: within the connection. */
  person: { workspace: string | null; platform_user_id: string }
  /** A person writes: the platform has it from now on, and keeps it until it is acknowledged. */
  say(text: string): void | Promise<void>
  /** The platform brings what is not acknowledged, in its order, up to the first that is not taken. */
  bring(channels: Channels): Promise<void>
  /** In the order in which people see it. */
  shown(channels: Channels): Promise<Shown[]> | Shown[]
  /** Everything that reached the platform, as text. */
  heard(channels: Channels): Promise<string> | string
  /** Calls that this platform did not make, or made long ago; none where nobody calls. */
  forged: readonly Forged[]
  /** What was taken comes again, as often as this is called; null: nobody calls. */
  again: ((channels: Channels) => Promise<void>) | null
  /** Somebody presses a button of this value in a conversation of their own; null: nothing is pressed there. */
  pressElsewhere: ((value: string, channels: Channels) => void | Promise<void>) | null
  /** Somebody says that they are the person; null: the platform vouches for everybody. */
  spoof: ((text: string) => void) | null
  /** The next calls fail, in each way that the platform knows. */
  fail(): void
  /** So much time passes while one waits. */
  tickMs: number
  /** It asks its platform itself, which must have seen it once. */
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

/** Events of a webhook: each stays until a call of it was answered with 200. */
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

/** A signed call without each of its headers, with each of them and, where it is signed, the body altered. */
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
/** Of platforms that nobody calls. */
export const UNCALLED = { forged: [], again: null } as const

export const nothing = async (): Promise<void> => undefined

/** Starts once, so that the platform knows of us: what is said from then on is for us. */
export async function meet({ start, store }: Bench, { asks }: Stage): Promise<void> {
  if (!asks) return
  const first = await start()
  const connection = async () => (await store.channels.listConnections('org_1'))[0]
  await expect.poll(async () => (await connection())?.state).toBe('live')
  await first.stop()
}

/** How the handler of a request ends: its status, or the code of what it was refused with. */
export const outcome = (answering: Promise<Response>): Promise<number | string> =>
  answering.then(
    ({ status }) => status,
    (error: unknown) => (error instanceof AppError ? error.code : String(error)),
  )
