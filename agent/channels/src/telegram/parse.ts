/** Parses Telegram's updates. Pure. */
import type { Message, Update, User } from 'grammy/types'
import type { FileRef, Inbound } from '../adapter.ts'

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
  if (said?.from === undefined) return null
  const place = placeOf(said)
  const key = `m:${said.chat.id}:${said.message_id}`
  const text = withoutMention(said.text ?? said.caption ?? '', me)
  const files = filesOf(said)
  const isForUs = place.source.chat_type === 'dm' || groups === 'all' || isMeant(said, text, me)
  return {
    event_key: edited === undefined ? key : `e:${update.update_id}`,
    ...place.keys,
    source: { ...place.source, ...userOf(said.from), ts: String(said.message_id) },
    text,
    ...(files.length === 0 ? {} : { files }),
    ...(edited === undefined ? {} : { edits: key }),
    ...languageOf(said.from),
    ...(said.from.is_bot ? { ignore: 'bot' } : isForUs ? {} : { ignore: 'not mentioned' }),
  }
}

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
function isMeant(message: Message, text: string, me: Me): boolean {
  if (message.reply_to_message?.from?.id === me.id) return true
  const written = message.text ?? message.caption ?? ''
  if (text !== written) return true
  const entities = message.entities ?? message.caption_entities ?? []
  return entities.some(entity => {
    const word = written.slice(entity.offset, entity.offset + entity.length).toLowerCase()
    if (entity.type === 'text_mention') return entity.user.id === me.id
    if (entity.type === 'mention') return word === `@${me.username.toLowerCase()}`
    return entity.type === 'bot_command' && entity.offset === 0 && !word.includes('@')
  })
}

/** The largest picture and all other files, by their file ids. */
function filesOf({
  photo,
  document,
  video,
  video_note,
  audio,
  voice,
  animation,
  message_id,
}: Message): FileRef[] {
  const files: FileRef[] = []
  const add = (
    file: { file_id: string; file_size?: number; mime_type?: string; file_name?: string } | undefined,
    name: string,
    mime: string,
  ): void => {
    if (file === undefined) return
    const { file_id, file_size: size, mime_type = mime, file_name = name } = file
    files.push({
      name: file_name,
      mime_type,
      ...(size === undefined ? {} : { size }),
      ref: { file_id },
    })
  }
  add(photo?.at(-1), `photo-${message_id}.jpg`, 'image/jpeg')
  // An animation is sent as a document as well.
  if (animation === undefined) add(document, `document-${message_id}`, 'application/octet-stream')
  add(animation, `animation-${message_id}.mp4`, 'video/mp4')
  add(video, `video-${message_id}.mp4`, 'video/mp4')
  add(video_note, `video-note-${message_id}.mp4`, 'video/mp4')
  add(audio, `audio-${message_id}.mp3`, 'audio/mpeg')
  add(voice, `voice-${message_id}.ogg`, 'audio/ogg')
  return files
}
