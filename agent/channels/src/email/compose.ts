/** Builds an email from a part: a reply to the email it is about, marked as automatic (RFC 3834). */
import type { SendMailOptions } from 'nodemailer'
import type { OutgoingPart } from '../adapter.ts'
import { paragraph } from './html.ts'
import { renderHtml } from './email-process.ts'
import type { EmailTarget } from './parse.ts'
import { ourMessageId } from './thread.ts'

export type Sender = {
  /** Display name. */
  name: string
  address: string
  /** The reply address; null for the address itself. */
  replyTo(target: EmailTarget): string | null
}

const MARKDOWN: readonly OutgoingPart['type'][] = ['answer', 'question', 'approval']
/** Maximum entries of References: the first email and the newest ones. */
const REFERENCES = 20

export async function composeEmail(
  part: OutgoingPart,
  key: string,
  sender: Sender,
  signal: AbortSignal,
): Promise<SendMailOptions> {
  const target = part.target as EmailTarget
  const { to, others, subject, message_id, references, conversation } = target
  const text = textOf(part)
  const disclosure = part.disclosure ?? null
  const replyTo = sender.replyTo(target)
  const hasHtml = part.plain !== true && MARKDOWN.includes(part.type)
  const html = hasHtml ? await renderHtml(text, signal) : null
  return {
    messageId: ourMessageId(key, conversation, sender.address),
    from: { name: sender.name, address: sender.address },
    to: [to],
    cc: others,
    ...(replyTo === null ? {} : { replyTo }),
    ...(message_id === ''
      ? { subject }
      : {
          subject: replySubject(subject),
          inReplyTo: message_id,
          references: chain(references, message_id),
        }),
    text: disclosure === null ? text : `${disclosure}\n\n${text}`,
    ...(html === null ? {} : { html: `${disclosure === null ? '' : paragraph(disclosure)}${html}` }),
    ...(part.file === undefined
      ? {}
      : {
          attachments: [
            {
              filename: part.file.name,
              contentType: part.file.mime_type,
              content: Buffer.from(part.file.bytes),
            },
          ],
        }),
    headers: {
      'Auto-Submitted': message_id === '' ? 'auto-generated' : 'auto-replied',
      'X-Auto-Response-Suppress': 'All',
    },
    // Never read a path or URL that a part contains.
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

const textOf = ({ text, prompt, type }: OutgoingPart): string =>
  type === 'question' && prompt !== undefined
    ? `${text}\n\nReply to this email with the number or the text of a choice.`
    : text

const replySubject = (subject: string): string =>
  subject === '' ? 'Your message' : /^(?:re|aw|sv|vs|antw)\s*:/i.test(subject) ? subject : `Re: ${subject}`

function chain(references: readonly string[], messageId: string): string[] {
  const all = [...new Set([...references, messageId])]
  return all.length <= REFERENCES ? all : [...all.slice(0, 1), ...all.slice(1 - REFERENCES)]
}
