/**
 * Authenticates the sender. `From` proves nothing: the receiving mail server reports its checks in
 * Authentication-Results (RFC 8601), under its own name. Senders can add such headers too, so only the
 * topmost one with the configured name counts.
 */
import { domainOf } from './thread.ts'

/**
 * pass  the email passed DMARC for the domain of From (RFC 7489)
 * fail  it failed DMARC
 * none  no result
 */
export type Verdict = 'pass' | 'fail' | 'none'

/** `headers`: the values of Authentication-Results, topmost first. */
export function verdictOf(headers: readonly string[], authservId: string | null, from: string): Verdict {
  if (authservId === null) return 'none'
  for (const header of headers) {
    const [name = '', ...results] = withoutComments(header).split(';')
    if (name.trim().split(/\s+/)[0]?.toLowerCase() !== authservId.toLowerCase()) continue
    for (const result of results) {
      const words = result.trim().toLowerCase().split(/\s+/)
      const found = /^dmarc\s*=\s*([a-z]+)$/.exec(words[0] ?? '')?.[1]
      if (found === undefined) continue
      const domain = words.find(word => word.startsWith('header.from='))?.slice('header.from='.length)
      if (found === 'pass') return domain === undefined || domain === domainOf(from) ? 'pass' : 'none'
      if (found === 'fail') return 'fail'
    }
    return 'none'
  }
  return 'none'
}

/** Comments may be nested and contain anything, quoted strings included. */
function withoutComments(header: string): string {
  let depth = 0
  let isQuoted = false
  let kept = ''
  for (let at = 0; at < header.length; at++) {
    const character = header[at]
    if (character === '\\') at++
    else if (depth === 0 && character === '"') isQuoted = !isQuoted
    else if (isQuoted) continue
    else if (character === '(') depth++
    else if (character === ')') depth = Math.max(0, depth - 1)
    else if (depth === 0) kept += character
  }
  return kept
}
