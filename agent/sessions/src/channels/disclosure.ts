/** Evidence that a person knew of the AI: the disclosure that was sent to them, and their acceptance. */
import { createHash } from 'node:crypto'
import type { StoredEvent } from '@cairn/log'
import { AppError, decodeEvent, type EventData, type EventId, type Principal, writer } from '@cairn/protocol'
import type { Deps } from '../deps.ts'
import { commitFor } from '../refusals.ts'

const write = writer('disclosure')
const UNARCHIVED = ['active', 'paused', 'completed', 'failed'] as const

export type Presented = {
  level: string
  /** Name of the platform. */
  channel: string
  language: string
  text: string
  platform_message_id: string | null
}

/**
 * Records that a platform accepted the disclosure as first message of a conversation. Once per conversation:
 * a second time is rejected with the cause `already_accepted`.
 */
export async function presentDisclosure(
  { store }: Deps,
  sessionId: string,
  { level, channel, language, text, platform_message_id }: Presented,
): Promise<void> {
  await commitFor(store, 'record the disclosure of', {
    session_id: sessionId,
    rows: [{ do: 'channel.disclosed' }],
    events: [
      write('disclosure.presented', {
        level,
        channel,
        delivery: 'channel_message',
        language,
        text_sha256: createHash('sha256').update(text).digest('hex'),
        ...(platform_message_id === null ? {} : { platform_message_id }),
      }),
    ],
  })
}

/**
 * Records that a web user accepted the banner of that level. One acceptance is one event: a repeated request
 * of the same person for the same level writes nothing and returns the id of the first.
 */
export async function confirmDisclosure(
  { store }: Deps,
  sessionId: string,
  level: string,
  principal: Principal,
  visitorId?: string,
): Promise<EventId> {
  const confirmed = write('disclosure.confirmed', {
    level,
    source: 'web_banner',
    ...(principal.kind === 'user' ? { principal_user_id: principal.id } : {}),
    ...(visitorId === undefined ? {} : { visitor_id: visitorId }),
  })
  const before = await findConfirmed(store, sessionId, confirmed.data)
  if (before !== null) return before
  const { last_id } = await commitFor(store, 'confirm the disclosure of', {
    session_id: sessionId,
    expect_status: UNARCHIVED,
    events: [confirmed],
  })
  return last_id
}

/** The event with which the same person accepted the same level before. */
async function findConfirmed(
  store: Deps['store'],
  sessionId: string,
  { level, principal_user_id, visitor_id }: EventData<'disclosure.confirmed'>,
): Promise<EventId | null> {
  for (let after: EventId | undefined = 0; after !== undefined;) {
    const page: StoredEvent[] = await store.events.read(sessionId, after, CONFIRMED_AT_ONCE, [
      'disclosure.confirmed',
    ])
    for (const { json } of page) {
      const event = decodeEvent(json)
      if (
        event.type === 'disclosure.confirmed' &&
        event.data.level === level &&
        event.data.principal_user_id === principal_user_id &&
        event.data.visitor_id === visitor_id
      )
        return event.id
    }
    after = page.length < CONFIRMED_AT_ONCE ? undefined : page.at(-1)?.id
  }
  return null
}
const CONFIRMED_AT_ONCE = 100

/** If the operator requires it, people's messages are rejected until they accept; programs are exempt. */
export async function requireConfirmed(
  { store }: Pick<Deps, 'store'>,
  sessionId: string,
  principal: Principal,
): Promise<void> {
  if (principal.kind !== 'user') return
  if ((await store.events.read(sessionId, 0, 1, ['disclosure.confirmed'])).length > 0) return
  throw new AppError(
    'disclosure_required',
    'Confirm the AI disclosure of this session first: POST /v1/sessions/{id}/confirm-disclosure, ' +
      'or use the banner in the web UI.',
  )
}
