/**
 * Detects automatic emails, which are never answered: by the marks of RFC 3834, and by common habits of
 * programs that do not set them.
 */

/** Values of a header by its lower-case name, topmost first. */
export type HeadersOf = (name: string) => string[]

const WORDS: Record<string, RegExp> = {
  'auto-submitted': /^(?!\s*no\b)/i,
  precedence: /^\s*(?:bulk|list|junk|auto_reply)\b/i,
  'list-id': /\S/,
  'list-unsubscribe': /\S/,
  'x-autoreply': /\S/,
  'x-autorespond': /\S/,
}

/** Why the email is ignored; null if a person may have written it. */
export function automatic(headersOf: HeadersOf, from: string): string | null {
  if (isReport(headersOf, from)) return 'bounce'
  for (const [name, isAutomatic] of Object.entries(WORDS))
    if (headersOf(name).some(value => isAutomatic.test(value))) return `automatic: ${name}`
  return null
}

/** True for a mail server's report about an email. */
export const isReport = (headersOf: HeadersOf, from: string): boolean =>
  headersOf('return-path').some(value => value.trim() === '<>') ||
  headersOf('content-type').some(value => /^\s*multipart\/report\b/i.test(value)) ||
  /^(?:mailer-daemon|postmaster)@/.test(from)
