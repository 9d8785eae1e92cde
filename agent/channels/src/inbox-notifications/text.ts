/** The text of a notification: no more of an item than the person's inbox list shows. */
import { clip, type InboxItem, type InboxKind, visibleText } from '@cairn/protocol'

/** The body of a webhook call; `docs/notifications.md` documents these keys. */
export type NotificationBody = {
  type: 'inbox.item_raised' | 'notice.test'
  timestamp: string
  data: NotificationData | Record<string, never>
}
export type NotificationData = {
  item_id: string
  kind: InboxKind
  title: string
  agent: string
  session_id: string
  session_title: string | null
  /** Null if `public_url` is not configured. */
  url: string | null
}

const MAX_CHARS = 300
const shown = (text: string): string => clip(visibleText(text), MAX_CHARS)

export const dataOf = (item: InboxItem, publicUrl: string | null): NotificationData => ({
  item_id: item.id,
  kind: item.kind,
  title: shown(item.title),
  agent: shown(item.agent),
  session_id: item.session_id,
  session_title: item.session_title === null ? null : shown(item.session_title),
  url: publicUrl === null ? null : `${publicUrl}/sessions/${encodeURIComponent(item.session_id)}`,
})

const WORDS: Record<InboxKind, string> = {
  input_required: 'Question',
  action_required: 'Action',
  governance_gate: 'Approval',
  task_complete: 'Finished',
  progress_checkin: 'Progress',
}

/**
 * What a browser shows, encrypted for it: no more than a lock screen may show to anyone. No title of the
 * item, which may name a command.
 */
export const pushedText = ({ data }: NotificationBody): string =>
  JSON.stringify(
    'item_id' in data
      ? { title: WORDS[data.kind], body: data.session_title ?? 'Untitled session', item_id: data.item_id }
      : { title: 'Test notification', body: 'This browser receives notifications.', item_id: null },
  )

export type Letter = { subject: string; text: string }

export function letterOf(data: NotificationData, publicUrl: string | null): Letter {
  const session = data.session_title ?? 'an untitled session'
  const settings = publicUrl === null ? 'on the Notifications page' : `at ${publicUrl}/notices`
  return {
    subject: `${WORDS[data.kind]}: ${oneLine(data.title)}`,
    text: [
      `${data.agent} in “${session}”:`,
      data.title,
      ...(data.url === null ? [] : [data.url]),
      `You receive this because notifications are on for your inbox. Change that ${settings}.`,
    ].join('\n\n'),
  }
}

const oneLine = (text: string): string => clip(text.replaceAll(/\s+/g, ' '), 120)

export const testLetter: Letter = {
  subject: 'Test notification',
  text: 'This is how you are notified about items in your inbox.',
}

export const codeLetter = (code: string): Letter => ({
  subject: `${code} is your code for notifications`,
  text: [
    'Someone asked to send inbox notifications to this address. If it was you, enter the code ' +
      `${code} on the Notifications page within one hour.`,
    'If it was not you, ignore this email: you will not receive another.',
  ].join('\n\n'),
})
