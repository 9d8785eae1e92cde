/** Emails of one thread, and the parts of the answers: the first one starts with the disclosure. */
import type { Fault, Got } from '../email/fake-post.ts'
import type { Written } from '../email/person.ts'
import type { Shown } from './stage.ts'

let threads = 0
/** What a person writes, each in reply to their own first email. */
export function thread(): (text: string) => Written {
  const name = `${process.pid}.${++threads}`
  const root = `<root.${name}@example.com>`
  let count = 0
  return text => {
    count += 1
    if (count === 1) return { text, id: root }
    const headers = [`In-Reply-To: ${root}`, `References: ${root}`]
    return { text, id: `<m${count}.${name}@example.com>`, headers }
  }
}

export const shownMails = (got: readonly Got[]): Shown[] =>
  got.flatMap(({ text = '', messageId = null }) => {
    const lines = text.split('\n').filter(line => line.trim() !== '')
    const [first = ''] = lines
    // The text starts with the subject, which all of them share.
    const shown = { text: `echo: ${lines.at(-1)?.replace(/^echo: /, '')}`, key: messageId }
    return first.includes('an AI system') ? [{ text: first, key: `${messageId}/disclosure` }, shown] : [shown]
  })

/** Everything that people and programs can read of the emails; encoded, a line may break anywhere. */
export const heardMails = (got: readonly Got[]): string =>
  JSON.stringify(got.map(({ headers, text, html, recipients }) => ({ headers, text, html, recipients })))

export const REFUSED_MAILS: Fault[] = [
  { code: 535, message: '5.7.8 wrong' },
  { code: 451, message: '4.3.0 later' },
  'drop',
  { code: 550, message: '5.1.1 nobody' },
]
