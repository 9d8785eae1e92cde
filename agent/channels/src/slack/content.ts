/** What a Slack message contains beyond its text: blocks, shared messages and files. */
import type { FileRef } from '../adapter.ts'
import { lines } from '../described.ts'
import type { Quotation } from '../quotation.ts'
import { blocksText } from './block-text.ts'
import type { SharedMessage, SlackFile } from './payloads.ts'
import { plainText } from './text.ts'

type Message = {
  text: string
  blocks?: unknown
  attachments?: readonly SharedMessage[]
  files?: readonly SlackFile[]
}

/** The text as Slack's own mrkdwn. Blocks repeat the text, and have words of their own if there is none. */
export const writtenText = ({ text, blocks }: Message): string =>
  text.trim() === '' ? blocksText(blocks) : text

/**
 * Messages that the sender shares. A preview of a link repeats what is behind the link, so it counts only if
 * the message has no other words.
 */
export function sharedMessages(message: Message): Quotation[] {
  const hasWords = writtenText(message).trim() !== ''
  return (message.attachments ?? []).flatMap(shared => {
    if (hasWords && !isShare(shared)) return []
    const text = plainText(sharedText(shared), null)
    return text === '' ? [] : [{ author: shared.author_name || shared.author_subname || null, text }]
  })
}

const isShare = ({ is_share, is_msg_unfurl, is_reply_unfurl }: SharedMessage): boolean =>
  [is_share, is_msg_unfurl, is_reply_unfurl].includes(true)

function sharedText(shared: SharedMessage): string {
  const { pretext, title, title_link, text, fields, image_url, fallback, files } = shared
  const words = lines([
    pretext,
    title === undefined || title_link === undefined ? title : `${title} (${title_link})`,
    text?.trim() ? text : blocksOf(shared),
    ...fields.map(field => [field.title, field.value].filter(Boolean).join(': ')),
    image_url === undefined ? undefined : `[Picture: ${image_url}]`,
  ])
  if (words !== '') return words
  return files.length > 0 ? filesText(files) : (fallback ?? '')
}

const blocksOf = ({ blocks, message_blocks }: SharedMessage): string =>
  lines([blocksText(blocks), ...message_blocks.map(({ message }) => blocksText(message?.blocks))])

const filesText = (files: readonly SlackFile[]): string =>
  files.map(({ name, id }) => `[File: ${name ?? id}]`).join('\n')

/** Its own files, and those of messages that it shares. */
const allFiles = ({ files = [], attachments = [] }: Message): SlackFile[] => [
  ...files,
  ...attachments.filter(isShare).flatMap(shared => shared.files),
]

/** The files that Slack stores. */
export const filesOf = (message: Message): FileRef[] =>
  allFiles(message).flatMap(({ id, name, mimetype, size, url_private_download: url }) =>
    url === undefined
      ? []
      : [
          {
            name: name ?? id,
            ...(mimetype === undefined ? {} : { mime_type: mimetype }),
            ...(size === undefined ? {} : { size }),
            ref: { url },
          },
        ],
  )

/** A line for each file that cannot be fetched: it was deleted, or is stored outside Slack. */
export const missingFiles = (message: Message): string[] =>
  allFiles(message).flatMap(({ id, name, mode, url_private, url_private_download }) => {
    if (url_private_download !== undefined) return []
    const where =
      mode === 'external' && url_private !== undefined
        ? `stored outside Slack at ${url_private}`
        : 'not available'
    return [`[attachment is ${where}: ${name ?? id}]`]
  })

/** All words of a message in a thread. */
export const shownText = (message: Message): string =>
  lines([
    plainText(writtenText(message), null),
    ...sharedMessages(message).map(({ author, text }) => (author === null ? text : `${author}: ${text}`)),
    filesText(message.files ?? []),
  ])
