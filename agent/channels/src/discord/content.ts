/** What a Discord message contains beyond its text: stickers, polls, forwards and the message that it answers. */
import { type APIMessage, type APIUser, MessageReferenceType, MessageType } from 'discord-api-types/v10'
import type { FileRef } from '../adapter.ts'
import { described, lines } from '../described.ts'
import type { AnsweredMessage, Quotation } from '../quotation.ts'

/** All other known types report something: a member joined, a message was pinned, a thread was created. */
const WRITTEN: readonly MessageType[] = [
  MessageType.Default,
  MessageType.Reply,
  MessageType.ChatInputCommand,
  MessageType.ContextMenuCommand,
]
export const isReport = ({ type }: Pick<APIMessage, 'type'>): boolean =>
  type in MessageType && !WRITTEN.includes(type)

type Shown = Pick<APIMessage, 'content' | 'mentions'> &
  Partial<Pick<APIMessage, 'sticker_items' | 'poll' | 'embeds'>>

/**
 * The text as people see it, or in brackets what it shows. Mentions of `me` only address the bot, so they are
 * removed.
 */
export function shownText(
  { content, mentions, sticker_items = [], poll, embeds = [] }: Shown,
  me: string | null,
): string {
  const names = new Map(mentions.map(user => [user.id, nameOf(user)]))
  const text = content
    .replace(/<@!?(\d+)>/g, (whole, id: string) =>
      id === me ? '' : names.has(id) ? `@${names.get(id)}` : whole,
    )
    .trim()
  const pictured = [
    ...sticker_items.map(({ name }) => `[Sticker: ${name}]`),
    ...(poll === undefined
      ? []
      : [
          described(
            'Poll',
            [poll.question, ...poll.answers.map(({ poll_media }) => poll_media)].map(pollText),
          ),
        ]),
  ]
  // Embeds repeat what is behind a link; only apps write messages that consist of them.
  const embedded =
    text === ''
      ? embeds.flatMap(({ title, description }) => [title, description].filter(part => part !== undefined))
      : []
  return lines([text, ...pictured, ...embedded])
}
const pollText = ({ text, emoji }: { text?: string; emoji?: { name?: string | null } }): string =>
  text ?? emoji?.name ?? ''

export const nameOf = ({ global_name, username }: Pick<APIUser, 'global_name' | 'username'>): string =>
  global_name ?? username

/** Messages that the sender forwards; Discord does not name their authors. */
export const forwardsOf = ({ message_snapshots = [] }: APIMessage): Quotation[] =>
  message_snapshots.map(({ message }) => ({
    author: null,
    text: shownText(message, null) || fileText(message),
  }))

export const forwardedFiles = ({ message_snapshots = [] }: APIMessage): FileRef[] =>
  message_snapshots.flatMap(({ message }) => filesOf(message))

/** Null if it answers none, or the other message was deleted. A forward refers to a message as well. */
export function answeredBy(
  { message_reference, referenced_message: replied }: APIMessage,
  me: string,
): AnsweredMessage | null {
  if (message_reference?.type === MessageReferenceType.Forward || !replied) return null
  const text =
    shownText(replied, null) || lines(forwardsOf(replied).map(forward => forward.text)) || fileText(replied)
  return { author: nameOf(replied.author), text, ...(replied.author.id === me ? { own: true } : {}) }
}

type Attached = Pick<APIMessage, 'attachments'>
const fileText = ({ attachments }: Attached): string =>
  attachments.map(({ filename }) => `[File: ${filename}]`).join('\n')

export const filesOf = ({ attachments }: Attached): FileRef[] =>
  attachments.map(({ filename, content_type, size, url }) => ({
    name: filename,
    ...(content_type === undefined ? {} : { mime_type: content_type }),
    size,
    ref: { url },
  }))
