/** Parses Telegram's updates. Pure. */
import type { Message, Update, User } from 'grammy/types'
import type { FileRef, Inbound } from '../adapter.ts'
import { answeredBy, authorOf, filesOf, forwardOf, isService, shownText, unknownKind } from './content.ts'

/** The bot itself. */
export type Me = Pick<User, 'id'> & { username: string }

/**
 * Null if the update is not something that a person wrote. `groups`: which messages are accepted in groups.
 */
export function parseUpdate(update: Update, me: Me, groups: 'mention' | 'all'): Inbound | null {
  const { callback_query: press, message, edited_message: edited } = update
  if (press !== undefined) {
    const at = press.message
    if (at === undefined || press.data === undefined) return null
    const place = placeOf(at as Message)
    return {
      event_key: `c:${press.id}`,
      ...place.keys,
      source: { ...place.source, ...userOf(press.from), ts: String(at.message_id) },
      text: '',
      press: press.data,
      reply: { callback_id: press.id },
      ...languageOf(press.from),
    }
  }
  const said = message ?? edited
  const author = said === undefined ? null : authorOf(said)
  if (said === undefined || author === null) return null
  const place = placeOf(said)
  const key = `m:${said.chat.id}:${said.message_id}`
  const isDirect = place.source.chat_type === 'dm'
  const forward = forwardOf(said)
  const text = forward === null ? withoutMention(shownText(said), me) : ''
  const answers = answeredBy(said, me)
  // In a group the bot has not seen the message whose files the person asks about.
  const files = [...filesOf(said), ...(isDirect ? [] : filesOfAnswered(said))]
  const isEmpty = text === '' && forward === null && files.length === 0
  const unsupported = isEmpty ? unknownKind(said) : undefined
  const isForUs = isDirect || groups === 'all' || isMeant(said, me)
  return {
    event_key: edited === undefined ? key : `e:${update.update_id}`,
    ...place.keys,
    source: { ...place.source, ...author, ts: String(said.message_id) },
    text,
    ...(files.length === 0 ? {} : { files }),
    ...(forward === null ? {} : { forwards: [forward] }),
    ...(answers === null ? {} : { answers }),
    ...(unsupported === undefined ? {} : { unsupported }),
    ...(said.media_group_id === undefined ? {} : { album: said.media_group_id }),
    ...(edited === undefined ? {} : { edits: key }),
    ...(said.from === undefined ? {} : languageOf(said.from)),
    ...whyIgnored(said, { isForUs, isEdit: edited !== undefined }),
  }
}

/** A person who writes as a group or a channel has a bot of Telegram as `from`. */
function whyIgnored(
  { from, sender_chat, text, caption, ...message }: Message,
  { isForUs, isEdit }: { isForUs: boolean; isEdit: boolean },
): Pick<Inbound, 'ignore'> {
  if (isService(message as Message)) return { ignore: 'service message' }
  if (sender_chat === undefined && from?.is_bot === true) return { ignore: 'bot' }
  if (!isForUs) return { ignore: 'not mentioned' }
  // A live location changes every few seconds, a poll or a checklist with each tick.
  return isEdit && text === undefined && caption === undefined ? { ignore: 'edit without text' } : {}
}

const filesOfAnswered = ({ reply_to_message: replied }: Message): FileRef[] =>
  replied === undefined ? [] : filesOf(replied as Message)

function placeOf({ chat, message_thread_id, is_topic_message }: Message) {
  const thread = is_topic_message === true && message_thread_id !== undefined ? message_thread_id : null
  const chat_type = chat.type === 'private' ? 'dm' : chat.type === 'channel' ? 'channel' : 'group'
  return {
    keys: {
      conversation_key: thread === null ? `${chat.id}` : `${chat.id}:${thread}`,
      target: { chat_id: chat.id, ...(thread === null ? {} : { thread_id: thread }) },
    },
    source: {
      platform: 'telegram',
      chat_id: String(chat.id),
      chat_type,
      thread_id: thread === null ? null : String(thread),
    },
  }
}

const userOf = ({ id, first_name, last_name }: User): { user_id: string; user_name: string | null } => ({
  user_id: String(id),
  user_name: [first_name, last_name].filter(Boolean).join(' ') || null,
})
const languageOf = ({ language_code }: User): { language?: string } =>
  language_code === undefined ? {} : { language: language_code }

/** Removes `@bot` at the end of a command, and at the start of a message. */
function withoutMention(text: string, { username }: Me): string {
  const name = `@${username}`.toLowerCase()
  const words = text.split(/(\s+)/)
  const isCommand = words[0]?.startsWith('/') === true && words[0].toLowerCase().endsWith(name)
  if (isCommand) return [words[0]?.slice(0, -name.length), ...words.slice(1)].join('')
  return words[0]?.toLowerCase() === name ? words.slice(2).join('') : text
}

/** True for a mention, a reply to the bot, or a command that is not for another bot. */
function isMeant(message: Message, me: Me): boolean {
  if (message.reply_to_message?.from?.id === me.id) return true
  const written = message.text ?? message.caption ?? ''
  if (withoutMention(written, me) !== written) return true
  const entities = message.entities ?? message.caption_entities ?? []
  return entities.some(entity => {
    const word = written.slice(entity.offset, entity.offset + entity.length).toLowerCase()
    if (entity.type === 'text_mention') return entity.user.id === me.id
    if (entity.type === 'mention') return word === `@${me.username.toLowerCase()}`
    return entity.type === 'bot_command' && entity.offset === 0 && !word.includes('@')
  })
}
