/** Turns an untrusted file name into one that names a file in one folder and nothing else. */

const MAX_CHARS = 100
/** Characters that are read: the patterns below take quadratic time. */
const READ_MAX = 1_000
/**
 * Control characters, bidirectional and invisible marks, and characters that some operating system reserves.
 */
// eslint-disable-next-line no-control-regex
const UNWANTED = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff<>:"|?*]/g

export function cleanName(name: string): string {
  const last = name.slice(Math.max(name.lastIndexOf('/'), name.lastIndexOf('\\')) + 1)
  const short = last.length <= READ_MAX ? last : last.slice(0, READ_MAX / 2) + last.slice(-READ_MAX / 2)
  const base = short.normalize('NFC').toWellFormed()
  const plain = base.replaceAll(UNWANTED, '').replace(/^[.\s-]+|[.\s]+$/g, '')
  if (plain === '') return 'file'
  const extension = /\.[A-Za-z0-9]{1,10}$/.exec(plain)?.[0] ?? ''
  const stem = plain.slice(0, plain.length - extension.length)
  return [...stem].slice(0, MAX_CHARS - extension.length).join('') + extension
}
