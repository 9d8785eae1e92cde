/** A person with an email program: writes, answers, and quotes the email that they answer. */
import type { Got } from './fake-post.ts'

export const ADDRESS = 'a@example.org'
export const SERVER = 'mx.example.org'

export type Written = {
  from?: string
  to?: string
  cc?: string
  subject?: string
  text?: string
  id?: string
  /** The verdict of the receiving mail server; null: it added none. */
  verdict?: 'pass' | 'fail' | null
  /** More headers, one per line. */
  headers?: readonly string[]
  /** Replaces the text body: content headers and what follows them. */
  body?: string
}

let count = 0
export function writeMail({
  from = 'Ann <ann@example.com>',
  to = ADDRESS,
  cc,
  subject = 'A question',
  text = '',
  id = `<m${++count}.${process.pid}@example.com>`,
  verdict = 'pass',
  headers = [],
  body = `Content-Type: text/plain; charset=utf-8\n\n${text}\n`,
}: Written): string {
  const domain = /@([^>\s]+)>?$/.exec(from)?.[1] ?? ''
  return [
    ...(verdict === null
      ? []
      : [`Authentication-Results: ${SERVER}; spf=none; dmarc=${verdict} header.from=${domain}`]),
    'Received: from somewhere',
    `From: ${from}`,
    `To: ${to}`,
    ...(cc === undefined ? [] : [`Cc: ${cc}`]),
    `Subject: ${subject}`,
    ...(id === '' ? [] : [`Message-ID: ${id}`]),
    'Date: Mon, 23 Nov 2026 12:00:00 +0000',
    ...headers,
    'MIME-Version: 1.0',
    body,
  ].join('\n')
}

/** The headers that make an email a reply to one of ours. */
export const answers = ({ messageId = '', references = '' }: Got): string[] => [
  `In-Reply-To: ${messageId}`,
  `References: ${references} ${messageId}`,
]
export const quoted = (text: string, { text: before = '' }: Got): string =>
  `${text}\n\nOn Mon, Nov 23, 2026 at 12:00 PM assistant <${ADDRESS}> wrote:\n` +
  before
    .trim()
    .split('\n')
    .map(line => `> ${line}`)
    .join('\n')
