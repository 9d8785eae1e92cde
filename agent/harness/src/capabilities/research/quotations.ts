/**
 * Checks the markers and quotations of a report (contract 14.5). Pure.
 *
 * marker      `[S3]`, or `[S1, S2]`: the sources of the text before it
 * quotation   text in quotation marks or in a block quote; checked from 8 words on
 */
export type SourceTexts = { number: number; texts: readonly string[] }
export type ReportProblem =
  | { problem: 'no_markers' }
  | { problem: 'unknown_marker'; marker: string }
  | { problem: 'not_in_source'; quotation: string; sources: string[] }
export type CheckedReport = {
  problems: ReportProblem[]
  /** Numbers of the cited sources, in order. */
  cited: number[]
  /** Number of text paragraphs without a marker. */
  unmarked: number
}

/** Shorter quotations are names and terms. */
const QUOTED_WORDS = 8
const MARKER = /\[S(\d{1,6})((?:\s*[,;]\s*S\d{1,6})*)\]/g
const NUMBER = /S(\d{1,6})/g
const SHOWN_CHARS = 300

const segmenter = new Intl.Segmenter('en', { granularity: 'word' })
export const wordsIn = (text: string): number =>
  [...segmenter.segment(text)].filter(({ isWordLike }) => isWordLike === true).length

/** Collapses white space to single spaces. */
export const plain = (text: string): string => text.normalize('NFC').replaceAll(/\s+/g, ' ').trim()

/** Normalizes for comparison: case, white space, emphasis and the style of quotation marks are ignored. */
const comparable = (text: string): string =>
  plain(
    text
      .replaceAll(/[“”„‟«»″]/g, '"')
      .replaceAll(/[‘’‚‛′]/g, "'")
      .replaceAll(/[‐‑‒–—]/g, '-')
      .replaceAll(/[*_`\\]/g, ''),
  ).toLowerCase()

/** Whether the text contains the words; around an omission (…), the parts must occur in that order. */
export function holds(text: string, quote: string): boolean {
  const page = comparable(text)
  const parts = comparable(quote)
    .split(/\[?(?:…|\.\.\.)\]?/)
    .map(part => part.replace(/^[\s"',;:.]+|[\s"',;:.!?]+$/g, ''))
    .filter(part => part !== '')
  let from = 0
  for (const part of parts) {
    const at = page.indexOf(part, from)
    if (at === -1) return false
    from = at + part.length
  }
  return parts.length > 0
}

/** `needsMarkers`: a report without any marker is refused. */
export function checkReport(
  markdown: string,
  sources: readonly SourceTexts[],
  needsMarkers: boolean,
): CheckedReport {
  const paragraphs = paragraphsOf(markdown)
  const known = new Map(sources.map(source => [source.number, source]))
  const problems: ReportProblem[] = []
  const cited = new Set<number>()
  for (const [index, paragraph] of paragraphs.entries()) {
    for (const { numbers } of markersIn(paragraph))
      for (const number of numbers)
        if (known.has(number)) cited.add(number)
        else if (!problems.some(each => each.problem === 'unknown_marker' && each.marker === `S${number}`))
          problems.push({ problem: 'unknown_marker', marker: `S${number}` })
    for (const { text, named } of quotationsIn(paragraph, paragraphs[index + 1] ?? '')) {
      if (wordsIn(text) < QUOTED_WORDS) continue
      const meant = named.length === 0 ? sources : named.flatMap(number => known.get(number) ?? [])
      if (meant.some(({ texts }) => texts.some(each => holds(each, text)))) continue
      problems.push({
        problem: 'not_in_source',
        quotation: plain(text).slice(0, SHOWN_CHARS),
        sources: named.map(number => `S${number}`),
      })
    }
  }
  if (needsMarkers && cited.size === 0) problems.push({ problem: 'no_markers' })
  const isText = (paragraph: string): boolean => !/^(#{1,6}\s|\|)/.test(paragraph) && wordsIn(paragraph) > 0
  return {
    problems,
    cited: [...cited].toSorted((a, b) => a - b),
    unmarked: paragraphs.filter(each => isText(each) && markersIn(each).length === 0).length,
  }
}

/** Without code, which contains no quotations. */
const paragraphsOf = (markdown: string): string[] =>
  withoutCode(markdown)
    .split(/\n\s*\n/)
    .map(paragraph => paragraph.trim())
    .filter(paragraph => paragraph !== '')

function withoutCode(markdown: string): string {
  const lines: string[] = []
  let fence: string | null = null
  for (const line of markdown.split(/\r?\n/)) {
    const [, mark] = /^ {0,3}(```+|~~~+)/.exec(line) ?? []
    if (fence === null && mark === undefined) lines.push(line.replaceAll(/`[^`]*`/g, ''))
    else if (fence === null) fence = mark ?? null
    else if (mark?.startsWith(fence) === true) fence = null
  }
  return lines.join('\n')
}

type Marker = { from: number; to: number; numbers: number[] }
const markersIn = (text: string): Marker[] =>
  [...text.matchAll(MARKER)].map(match => ({
    from: match.index,
    to: match.index + match[0].length,
    numbers: [...match[0].matchAll(NUMBER)].map(([, number]) => Number(number)),
  }))

type Quotation = { text: string; /** Sources after it. */ named: number[] }

function quotationsIn(paragraph: string, next: string): Quotation[] {
  const quoted = paragraph.split('\n').filter(line => line.startsWith('>'))
  const block: Quotation[] = []
  if (quoted.length > 0) {
    const text = quoted.map(line => line.replace(/^>+ ?/, '')).join('\n')
    const own = markersIn(paragraph)
    block.push({
      text: text.replaceAll(MARKER, ''),
      named: namedAfter(own.length === 0 ? markersIn(next) : own, 0),
    })
  }
  const rest = paragraph
    .split('\n')
    .filter(line => !line.startsWith('>'))
    .join('\n')
    .replaceAll(/[“”„‟«»″]/g, '"')
  const markers = markersIn(rest)
  const inline: Quotation[] = []
  for (let open = rest.indexOf('"'); open !== -1;) {
    const close = rest.indexOf('"', open + 1)
    // An unclosed one extends to the end.
    const end = close === -1 ? rest.length : close
    inline.push({
      text: rest.slice(open + 1, end).replaceAll(MARKER, ''),
      named: namedAfter(markers, close === -1 ? open : end),
    })
    open = close === -1 ? -1 : rest.indexOf('"', close + 1)
  }
  return [...block, ...inline]
}

/** The first group of adjacent markers after a place. */
function namedAfter(markers: readonly Marker[], place: number): number[] {
  const behind = markers.filter(({ from }) => from >= place)
  const group = behind.filter((marker, index) => {
    const before = behind.slice(0, index)
    return before.every((each, at) => (behind[at + 1] ?? marker).from - each.to <= 1)
  })
  return group.flatMap(({ numbers }) => numbers)
}
