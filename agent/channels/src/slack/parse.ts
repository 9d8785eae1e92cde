/** Parses Slack's inbound events. Pure: the same body gives the same events however it arrived. */
import { AppError } from '@cairn/protocol'
import type { Inbound } from '../adapter.ts'
import { lines } from '../described.ts'
import { firstIssue, unreadableEvent } from '../unreadable.ts'
import { filesOf, missingFiles, sharedMessages, writtenText } from './content.ts'
import {
  BlockActions,
  EventCallback,
  type MessageEvent,
  MessageHead,
  messageOf,
  SlashCommand,
  UrlVerification,
} from './payloads.ts'
import { mentions, plainText } from './text.ts'

export type ParseOptions = {
  groups: 'mention' | 'all'
  reply_in: 'thread' | 'channel'
}

/** Prefix of our buttons' action ids; other apps may post in the same workspace. */
export const ACTION = 'cairn'
/** The value of the button on a progress message: it is the command. */
export const STOP = 'stop'

/** Subtypes that report something: joins, topics, deletions, calls. All others are messages of people. */
const REPORT =
  /^(?:assistant|bot|channel|convert|document|ekm|file_comment|file_mention|group|huddle|message|pinned|reminder|sh_room|tombstone|unpinned)(?:_|$)/
/** For places without slash commands: Slack rejects unknown ones, and has none in threads. */
const STOP_WORD = /^(stop|cancel)$/i
/** After a mention, where the person clearly addresses the bot. */
const COMMAND_WORD = /^(stop|cancel|new|status|disclosure|help|link\s+\S+)$/i

/** Parses the JSON payload of the Events API, of an interaction or of a slash command. */
export function parsePayload(payload: unknown, options: ParseOptions): Inbound[] {
  const event = EventCallback.safeParse(payload)
  if (event.success) return parseEvent(event.data, options)
  const actions = BlockActions.safeParse(payload)
  if (actions.success) return parseActions(actions.data, options)
  const command = SlashCommand.safeParse(payload)
  return command.success ? [parseCommand(command.data)] : []
}

const JSON_TYPE = 'application/json'
const FORM_TYPE = 'application/x-www-form-urlencoded'
const BRACE = '{'.charCodeAt(0)

/**
 * The body of a request: JSON, or a form that contains JSON or a slash command. The signature covers the
 * bytes and not the content type, so the bytes decide how they are parsed: the text of a JSON event may look
 * like the fields of a form. Throws AppError if the content type disagrees.
 */
export function readBody(raw: Uint8Array, headers: Headers): unknown {
  const type = raw[0] === BRACE ? JSON_TYPE : FORM_TYPE
  const given = (headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase()
  if (given !== type)
    throw new AppError(
      'unsupported_media_type',
      `Slack request rejected: the body is ${type} and the content type is ${given || 'missing'}.`,
    )
  const text = new TextDecoder().decode(raw)
  if (type === JSON_TYPE) return parseJson(text)
  const form = new URLSearchParams(text)
  const payload = form.get('payload')
  return payload === null ? Object.fromEntries(form) : parseJson(payload)
}

/** The challenge to return when the URL is configured at Slack; null for any other payload. */
export function challengeOf(payload: unknown): string | null {
  const parsed = UrlVerification.safeParse(payload)
  return parsed.success ? parsed.data.challenge : null
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // A signed payload of an unknown type.
    return null
  }
}

function parseEvent(callback: EventCallback, options: ParseOptions): Inbound[] {
  const parsed = messageOf(callback)
  if (parsed === null) return []
  if (!parsed.success) return [malformed(callback, firstIssue(parsed.error))]
  const message = parsed.data
  if (message.user === undefined || REPORT.test(message.subtype ?? '')) return []
  const bot = callback.authorizations?.[0]?.user_id ?? null
  const written = writtenText(message)
  const text = plainText(written, bot)
  const isNamed = message.type === 'app_mention' || (bot !== null && mentions(written, bot))
  const place = placeOf(message.channel, message.thread_ts ?? message.ts, message.channel_type, options)
  const command = place.chat_type === 'dm' || !isNamed ? STOP_WORD : COMMAND_WORD
  const files = filesOf(message)
  const forwards = sharedMessages(message)
  const said = command.test(text)
    ? `/${text.toLowerCase().startsWith('link') ? text : text.toLowerCase()}`
    : text
  const ignore = whyIgnored(message, { bot, isNamed, isDirect: place.chat_type === 'dm', options, text })
  return [
    {
      // `app_mention` and `message` for the same text have two event ids and one timestamp.
      event_key: `m:${message.channel}:${message.ts}`,
      conversation_key: place.key,
      target: place.target,
      workspace: message.user_team ?? callback.team_id,
      source: {
        platform: 'slack',
        chat_id: message.channel,
        chat_type: place.chat_type,
        user_id: message.user,
        user_name: null,
        thread_id: place.thread,
        ts: message.ts,
      },
      text: lines([said, ...missingFiles(message)]),
      ...(files.length === 0 ? {} : { files }),
      ...(forwards.length === 0 ? {} : { forwards }),
      ...ignore,
    },
  ]
}

/** In a direct message the person gets a reply; elsewhere nothing shows that the message was for the bot. */
function malformed({ event, team_id }: EventCallback, why: string): Inbound {
  const head = MessageHead.safeParse(event)
  if (!head.success) return unreadableEvent('slack', event, why)
  const { channel, user, ts } = head.data
  return {
    event_key: `m:${channel}:${ts}`,
    conversation_key: channel,
    target: { channel },
    workspace: team_id,
    source: {
      platform: 'slack',
      chat_id: channel,
      chat_type: 'dm',
      user_id: user,
      user_name: null,
      thread_id: null,
      ts,
    },
    text: '',
    unsupported: `message with an invalid ${why.split(':', 1)[0]}`,
  }
}

type Judged = { bot: string | null; isNamed: boolean; isDirect: boolean; options: ParseOptions; text: string }
function whyIgnored(
  { bot_id, user, parent_user_id, thread_ts }: MessageEvent,
  { bot, isNamed, isDirect, options, text }: Judged,
): Pick<Inbound, 'ignore' | 'only_if_standing'> {
  if (bot !== null && user === bot) return { ignore: 'own' }
  if (bot_id !== undefined) return { ignore: 'bot' }
  if (isDirect || isNamed || options.groups === 'all') return {}
  if (bot !== null && parent_user_id === bot) return {}
  // The word alone, in a thread that may be one of ours.
  if (thread_ts !== undefined && STOP_WORD.test(text)) return { only_if_standing: true }
  return { ignore: 'not_mentioned' }
}

type ThreadRef = {
  key: string
  target: Record<string, unknown>
  thread: string | null
  chat_type: 'dm' | 'group' | 'channel'
}
/** Threads in a direct message belong to it; elsewhere each thread is a conversation. */
function placeOf(
  channel: string,
  threadTs: string,
  type: MessageEvent['channel_type'],
  { reply_in }: ParseOptions,
): ThreadRef {
  // Actions do not contain the channel type; ids of direct messages start with D.
  if (type === 'im' || type === 'app_home' || channel.startsWith('D'))
    return { key: channel, target: { channel }, thread: null, chat_type: 'dm' }
  const chat_type = type === 'mpim' ? 'group' : 'channel'
  if (reply_in === 'channel') return { key: channel, target: { channel }, thread: null, chat_type }
  const key = `${channel}:${threadTs}`
  return { key, target: { channel, thread_ts: threadTs }, thread: threadTs, chat_type }
}

function parseActions(
  { user, team, channel, message, actions }: BlockActions,
  options: ParseOptions,
): Inbound[] {
  if (channel === undefined || message === undefined) return []
  const place = placeOf(channel.id, message.thread_ts ?? message.ts, undefined, options)
  return actions.flatMap(({ action_id, action_ts = '0', value }) => {
    if (!action_id.startsWith(`${ACTION}:`) || value === undefined) return []
    const inbound: Inbound = {
      event_key: `a:${message.ts}:${action_ts}:${user.id}`,
      conversation_key: place.key,
      target: place.target,
      workspace: user.team_id ?? team?.id ?? '',
      source: {
        platform: 'slack',
        chat_id: channel.id,
        chat_type: place.chat_type,
        user_id: user.id,
        user_name: user.name ?? user.username ?? null,
        thread_id: place.thread,
        ts: action_ts,
      },
      ...(value === STOP ? { text: '/stop' } : { text: '', press: value }),
      // The reply to a button action is visible to this person only.
      reply: { user: user.id },
    }
    return [inbound]
  })
}

/**
 * `/cairn stop`. Slack does not say in which thread it was typed, so in channels it applies to the channel's
 * own conversation.
 */
function parseCommand({ team_id, channel_id, user_id, user_name, text, trigger_id }: SlashCommand): Inbound {
  const said = text.trim()
  return {
    event_key: `c:${trigger_id}`,
    conversation_key: channel_id,
    target: { channel: channel_id },
    workspace: team_id,
    source: {
      platform: 'slack',
      chat_id: channel_id,
      chat_type: channel_id.startsWith('D') ? 'dm' : 'channel',
      user_id,
      user_name: user_name ?? null,
      thread_id: null,
      ts: trigger_id,
    },
    text: COMMAND_WORD.test(said) ? `/${said}` : said,
  }
}
