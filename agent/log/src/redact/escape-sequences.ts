/**
 * The control sequences of terminals (ECMA-48), as they are and as JSON writes them. Nobody sees them, so a
 * secret begins behind one as behind a blank, and one in the middle of a secret (grep --color) hides nothing.
 */

/** The letter or digit that ends a sequence, in front of a place in a text: a source for a look behind. */
export const SEQUENCE_END =
  String.raw`(?:\x1b|\\u001[bB]|\\x1[bB]|\\0?33|\\e|\^\[)` +
  String.raw`(?:\[[0-9;:?<=>]{0,32}[A-Za-z]|[()*+][A-Za-z0-9]|[A-Za-z0-9])`

/** JSON.stringify writes the escape character so, however often the text is quoted. */
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
