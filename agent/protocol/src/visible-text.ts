/**
 * Characters that a reader cannot see, or that change what the others look like, drawn as `\u{202E}`. Text of
 * models and tools passes here before it reaches an approval, a tool card, the inbox or a terminal; the log
 * keeps it as it was.
 *
 * Drawn are the Unicode categories Cc (controls, line feed and tab aside), Cf (bidirectional controls,
 * zero-width characters, tags), Cs (half of a surrogate pair), Co, Cn, Zl and Zp, whatever is ignorable by
 * default (variation selectors, fillers) and the blank braille pattern. What makes an emoji one is left
 * alone: the selector right after a pictograph, the joiner between two.
 */
const SELECTOR = String.raw`(?<=\p{Extended_Pictographic})[\uFE0E\uFE0F]`
const JOINER =
  String.raw`(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F])\u200D` +
  String.raw`(?=\p{Extended_Pictographic})`
const EMOJI_PART = `${SELECTOR}|${JOINER}`
const UNSEEN = String.raw`(?![\n\t]|${EMOJI_PART})[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]`

const INVISIBLE = new RegExp(UNSEEN, 'gu')
/**
 * Letters of scripts that have the shapes of Latin ones, in a word that has Latin ones as well, and letters
 * of mathematics, which look like Latin ones: `h\u{43E}me` shows as `home` and is another folder.
 */
const ALIKE =
  String.raw`[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}` +
  String.raw`\p{Script=Coptic}\p{Script=Lisu}\p{Script=Deseret}]`
const OF_WORD = String.raw`[\p{L}\p{M}\p{N}_]{0,60}`
const MIXED =
  String.raw`(?<=\p{Script=Latin}${OF_WORD})${ALIKE}|${ALIKE}(?=${OF_WORD}\p{Script=Latin})|` +
  String.raw`[\u{1D400}-\u{1D7FF}]`
/** Every space but the ordinary one too: a shell takes none of them for a space. */
const DECEIVING = new RegExp(String.raw`${UNSEEN}|(?! )\p{Zs}|${MIXED}`, 'gu')
/** A backslash that would make ordinary text look like something that was drawn. */
const LOOKS_DRAWN = /\\(?=u\{)/g

const draw = (character: string): string =>
  `\\u{${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(2, '0')}}`

/** For reading: prose, results, titles. */
export const visibleText = (text: string): string => text.replace(INVISIBLE, draw)

/** For deciding: two texts that differ are never drawn alike. */
export const exactText = (text: string): string => text.replace(LOOKS_DRAWN, draw).replace(DECEIVING, draw)

export type TextPart = { text: string; /** In place of a character that does not show. */ drawn: boolean }

/** As `exactText`, in parts, for a page that can tell what was drawn from what was written. */
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
