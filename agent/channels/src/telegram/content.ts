/** What a Telegram message contains beyond its text: descriptions, files, forwards and answered messages. */
import type { Chat, Message, MessageOrigin, User } from 'grammy/types'
import type { FileRef } from '../adapter.ts'
import { described } from '../described.ts'
import type { AnsweredMessage, Quotation } from '../quotation.ts'

/** Reports of the service, which no person wrote. A message of another unknown kind is reported to its sender. */
const SERVICE: readonly string[] = [
  'new_chat_members',
  'left_chat_member',
  'chat_owner_left',
  'chat_owner_changed',
  'new_chat_title',
  'new_chat_photo',
  'delete_chat_photo',
  'group_chat_created',
  'supergroup_chat_created',
  'channel_chat_created',
  'message_auto_delete_timer_changed',
  'migrate_to_chat_id',
  'migrate_from_chat_id',
  'pinned_message',
  'write_access_allowed',
  'proximity_alert_triggered',
  'boost_added',
  'chat_background_set',
  'checklist_tasks_done',
  'checklist_tasks_added',
  'direct_message_price_changed',
  'forum_topic_created',
  'forum_topic_edited',
  'forum_topic_closed',
  'forum_topic_reopened',
  'general_forum_topic_hidden',
  'general_forum_topic_unhidden',
  'giveaway_created',
  'giveaway',
  'giveaway_winners',
  'giveaway_completed',
  'paid_message_price_changed',
  'video_chat_scheduled',
  'video_chat_started',
  'video_chat_ended',
  'video_chat_participants_invited',
]
/** Keys that say something about a message and are not its content. */
const HEAD = new Set([
  'message_id',
  'message_thread_id',
  'direct_messages_topic',
  'is_topic_message',
  'is_automatic_forward',
  'date',
  'edit_date',
  'chat',
  'from',
  'sender_chat',
  'sender_boost_count',
  'sender_business_bot',
  'sender_tag',
  'business_connection_id',
  'author_signature',
  'forward_origin',
  'reply_to_message',
  'reply_to_checklist_task_id',
  'reply_to_story',
  'external_reply',
  'quote',
  'reply_markup',
  'via_bot',
  'has_protected_content',
  'is_from_offline',
  'is_paid_post',
  'paid_star_count',
  'media_group_id',
  'effect_id',
  'link_preview_options',
  'text',
  'entities',
  'caption',
  'caption_entities',
])

export const isService = (message: Message): boolean => SERVICE.some(key => key in message)

/** The kind of content that is not read here, as Telegram names it. */
export const unknownKind = (message: Message): string | undefined =>
  Object.keys(message).find(key => !HEAD.has(key))

type Described = Partial<
  Pick<
    Message,
    | 'text'
    | 'caption'
    | 'sticker'
    | 'venue'
    | 'location'
    | 'contact'
    | 'poll'
    | 'dice'
    | 'game'
    | 'story'
    | 'checklist'
  >
>

/** What it says, or in brackets what it shows. */
export function shownText(message: Described): string {
  const { text, caption, sticker, venue, location, contact, poll, dice, game, story, checklist } = message
  if (text !== undefined || caption !== undefined) return text ?? caption ?? ''
  if (sticker !== undefined) return described('Sticker', [sticker.emoji, sticker.set_name])
  const point = venue?.location ?? location
  if (point !== undefined)
    return described('Location', [`${point.latitude}, ${point.longitude}`, venue?.title, venue?.address])
  if (contact !== undefined)
    return described('Contact', [
      nameOf(contact),
      contact.phone_number,
      contact.vcard?.replaceAll(/\s+/g, ' '),
    ])
  if (poll !== undefined)
    return described('Poll', [poll.question, ...poll.options.map(option => option.text)])
  if (dice !== undefined) return described('Dice', [`${dice.emoji} ${dice.value}`])
  if (game !== undefined) return described('Game', [game.title, game.description])
  if (checklist !== undefined)
    return described('Checklist', [checklist.title, ...checklist.tasks.map(task => task.text)])
  if (story !== undefined) return described('Story', [chatName(story.chat)])
  return ''
}

const nameOf = ({ first_name, last_name }: { first_name?: string; last_name?: string }): string =>
  [first_name, last_name].filter(Boolean).join(' ')

const chatName = (chat: Chat): string => chat.title ?? (nameOf(chat) || `${chat.id}`)

/** A channel or a group that a person writes as, and otherwise the person. */
export function authorOf({
  from,
  sender_chat,
  author_signature,
}: Pick<Message, 'from' | 'sender_chat' | 'author_signature'>): {
  user_id: string
  user_name: string | null
} | null {
  if (sender_chat !== undefined)
    return {
      user_id: `${sender_chat.id}`,
      user_name: [chatName(sender_chat), author_signature].filter(Boolean).join(', '),
    }
  return from === undefined ? null : { user_id: `${from.id}`, user_name: nameOf(from) || null }
}

function originName(origin: MessageOrigin): string {
  switch (origin.type) {
    case 'user':
      return nameOf(origin.sender_user)
    case 'hidden_user':
      return origin.sender_user_name
    case 'chat':
      return chatName(origin.sender_chat)
    case 'channel':
      return chatName(origin.chat)
  }
}

/** A forwarded message; its files are those of the message itself. */
export function forwardOf(message: Message): Quotation | null {
  const { forward_origin: origin } = message
  if (origin === undefined) return null
  const text = shownText(message)
  return { author: originName(origin) || null, text: text === '' ? '[no text]' : text }
}

/** The message that it answers, also in another chat; the first message of a topic is not one. */
export function answeredBy(message: Message, me: Pick<User, 'id'>): AnsweredMessage | null {
  const { reply_to_message: replied, external_reply: external, quote, reply_to_story: story } = message
  const selected = quote === undefined ? {} : { selected: quote.text }
  if (replied !== undefined && !isService(replied as Message)) {
    const text = shownText(replied) || fileText(replied as Message)
    const { user_name = null } = authorOf(replied) ?? {}
    return { author: user_name, text, ...selected, ...(replied.from?.id === me.id ? { own: true } : {}) }
  }
  if (external !== undefined) {
    const text = shownText(external) || fileText(external as object as Message)
    return { author: originName(external.origin) || null, text, ...selected }
  }
  return story === undefined ? null : { author: chatName(story.chat), text: '[Story]', ...selected }
}

const fileText = (message: Message): string =>
  filesOf(message)
    .map(({ name }) => `[File: ${name}]`)
    .join('\n')

/** The largest picture and all other files, by their file ids. */
export function filesOf({
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
