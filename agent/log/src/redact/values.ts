/** What the rules for secrets in a context share: their shape, and how a value is judged. */

export type Mode = 'text' | 'arguments'
export type Rule = (text: string, mark: string, mode: Mode) => string

/** In the arguments of a call a rule takes out these characters only: none that a shell acts on. */
export const SAFE = '[A-Za-z0-9._~%+/=,:^@-]'

export const PLACEHOLDER = /^(?:pass|password|passwd|secret|\*+|\.+|x+|\$?\{+\w+\}+|\$\w+)$/i
export const COMMON_WORD = /^[a-z]+$|^[A-Z]+$/
export const hasLetterAndDigit = (value: string): boolean => /[A-Za-z]/.test(value) && /\d/.test(value)

/** user:password, as RFC 7617 has it. */
export const isPair = (base64: string): boolean =>
  /^[\x20-\x7e]*:[\x20-\x7e]+$/.test(Buffer.from(base64, 'base64').toString('latin1'))
