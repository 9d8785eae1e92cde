/**
 * Makes characters visible that a reader cannot see, or that change how others look: `\u{202E}`. Text of
 * models and tools is escaped here before it reaches an approval, a tool card, the inbox or a terminal; the
 * log keeps the original.
 *
 * Escaped are the Unicode categories Cc (controls, except line feed and tab), Cf (bidirectional controls,
 * zero-width characters, tags), Cs (lone surrogates), Co, Cn, Zl and Zp, default-ignorable characters
 * (variation selectors, fillers) and the blank braille pattern. Parts of emoji are kept: the selector right
 * after a pictograph, the joiner between two.
 */
const SELECTOR = String.raw`(?<=\p{Extended_Pictographic})[\uFE0E\uFE0F]`
const JOINER =
  String.raw`(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F])\u200D` +
  String.raw`(?=\p{Extended_Pictographic})`
const EMOJI_PART = `${SELECTOR}|${JOINER}`
const UNSEEN = String.raw`(?![\n\t]|${EMOJI_PART})[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]`

const INVISIBLE = new RegExp(UNSEEN, 'gu')
/**
 * Homoglyphs: letters of scripts that look like Latin ones, in a word that also has Latin letters, and
 * mathematical letters. `h\u{43E}me` looks like `home` but is another folder.
 */
const ALIKE =
  String.raw`[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}` +
  String.raw`\p{Script=Coptic}\p{Script=Lisu}\p{Script=Deseret}]`
const OF_WORD = String.raw`[\p{L}\p{M}\p{N}_]{0,60}`
const MIXED =
  String.raw`(?<=\p{Script=Latin}${OF_WORD})${ALIKE}|${ALIKE}(?=${OF_WORD}\p{Script=Latin})|` +
  String.raw`[\u{1D400}-\u{1D7FF}]`
/** Also every space except U+0020: a shell does not treat the others as separators. */
const DECEIVING = new RegExp(String.raw`${UNSEEN}|(?! )\p{Zs}|${MIXED}`, 'gu')
/** A backslash that would make ordinary text look like an escape. */
const LOOKS_DRAWN = /\\(?=u\{)/g

const draw = (character: string): string =>
  `\\u{${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(2, '0')}}`

/** For reading: prose, results, titles. */
export const visibleText = (text: string): string => text.replace(INVISIBLE, draw)

/** For decisions: two different texts never look the same. */
export const exactText = (text: string): string => text.replace(LOOKS_DRAWN, draw).replace(DECEIVING, draw)

export type TextPart = { text: string; /* Shown in place of an invisible character. */ drawn: boolean }

/** `exactText` in parts, for a page that styles escapes differently from the text itself. */
export function exactParts(text: string): TextPart[] {
  const parts: TextPart[] = []
  let from = 0
  for (const { 0: character, index } of text.matchAll(DECEIVING)) {
    if (index > from) parts.push({ text: text.slice(from, index), drawn: false })
    parts.push({ text: draw(character), drawn: true })
    from = index + character.length
  }
  if (from < text.length) parts.push({ text: text.slice(from), drawn: false })
  return parts
}
