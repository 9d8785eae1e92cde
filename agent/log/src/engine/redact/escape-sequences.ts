/**
 * Terminal control sequences (ECMA-48), raw and as JSON escapes them. They are invisible, so a secret may
 * start after one as after a space, and one in the middle of a secret (grep --color) hides nothing.
 */

/** The final character of a sequence before a position: source of a lookbehind. */
export const SEQUENCE_END =
  String.raw`(?:\x1b|\\u001[bB]|\\x1[bB]|\\0?33|\\e|\^\[)` +
  String.raw`(?:\[[0-9;:?<=>]{0,32}[A-Za-z]|[()*+][A-Za-z0-9]|[A-Za-z0-9])`

/** How JSON.stringify escapes the escape character, however often the text is quoted. */
export const ESCAPE_WORDS: readonly string[] = ['u001b', 'u001B']

const ESCAPE = String.raw`(?:\x1b|\\{1,8}u001[bB])`
const BELL = String.raw`(?:\x07|\\{1,8}u0007|${ESCAPE}\\{1,8})`
const SEQUENCES = new RegExp(
  `${ESCAPE}(?:` +
    [
      String.raw`\[[0-9;:?<=>!]{0,64}[ -/]{0,4}[@-~]`,
      String.raw`\][^"\n\x1b\x07\\]{0,2048}${BELL}`,
      '[()*+][A-Za-z0-9]',
      '[A-Za-z0-9=<>]',
    ].join('|') +
    ')',
  'g',
)
export const withoutSequences = (text: string): string => text.replace(SEQUENCES, '')
