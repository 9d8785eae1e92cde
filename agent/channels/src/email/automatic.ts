/**
 * Mails that no person wrote are never answered: RFC 3834 says how programs mark theirs, and what they do
 * not mark is known by its habits.
 */

/** Values of a header by its name in lower case, the topmost first. */
export type HeadersOf = (name: string) => string[]

const WORDS: Record<string, RegExp> = {
  'auto-submitted': /^(?!\s*no\b)/i,
  precedence: /^\s*(?:bulk|list|junk|auto_reply)\b/i,
  'list-id': /\S/,
  'list-unsubscribe': /\S/,
  'x-autoreply': /\S/,
  'x-autorespond': /\S/,
}

/** Why it is not taken; null: a person may have written it. */
export function automatic(headersOf: HeadersOf, from: string): string | null {
  if (isReport(headersOf, from)) return 'bounce'
  for (const [name, isAutomatic] of Object.entries(WORDS))
    if (headersOf(name).some(value => isAutomatic.test(value))) return `automatic: ${name}`
  return null
}

/** A mail server writes, about a mail. */
export const isReport = (headersOf: HeadersOf, from: string): boolean =>
  headersOf('return-path').some(value => value.trim() === '<>') ||
  headersOf('content-type').some(value => /^\s*multipart\/report\b/i.test(value)) ||
  /^(?:mailer-daemon|postmaster)@/.test(from)
