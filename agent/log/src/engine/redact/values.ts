/** Shared parts of the rules for secrets in a context: their type, and how a value is judged. */

export type Mode = 'text' | 'arguments'
export type Rule = (text: string, mark: string, mode: Mode) => string

/** The characters that a rule may remove from arguments of a call: none that a shell interprets. */
export const SAFE = '[A-Za-z0-9._~%+/=,:^@-]'

export const PLACEHOLDER = /^(?:pass|password|passwd|secret|\*+|\.+|x+|\$?\{+\w+\}+|\$\w+)$/i
export const COMMON_WORD = /^[a-z]+$|^[A-Z]+$/
export const hasLetterAndDigit = (value: string): boolean => /[A-Za-z]/.test(value) && /\d/.test(value)

/** user:password in base64 (RFC 7617). */
export const isPair = (base64: string): boolean =>
  /^[\x20-\x7e]*:[\x20-\x7e]+$/.test(Buffer.from(base64, 'base64').toString('latin1'))
