/**
 * Private key blocks: PEM and its relatives (PKCS, OpenSSH, SSH2, PGP), and PuTTY's format.
 *
 * In ordinary text a block extends from its first marker to its last; a truncated one as far as lines of key
 * material follow. In arguments of a call, the text between markers may be anything, even a command: there
 * only runs of key material are removed, and every other character stays for approval and audit.
 */
import { prefixesOf, START } from './prefixed-tokens.ts'
import type { Stretches } from './runs.ts'

const LABEL = '[A-Z0-9 ]{0,60}PRIVATE KEY(?: BLOCK)?'
const HEAD = new RegExp(`-{4,5} ?BEGIN ${LABEL} ?-{4,5}|PuTTY-User-Key-File-\\d`, 'g')
const TAIL = new RegExp(`-{4,5} ?END ${LABEL} ?-{4,5}|Private-MAC: ?[0-9a-fA-F]+`, 'g')
/** Every block contains one of these words. */
export const KEY_BLOCK_WORDS = ['PRIVATE KEY', 'PuTTY-User-Key-File-']

/** Three times the largest keys in use; markers that are farther apart do not belong together. */
const MAX_BLOCK = 32_768

/** A line ends at a line feed, raw or escaped in a JSON text within the text. */
const LINE_END = /\r?\n|(?:\\r)?\\n/g
/** Longer than any line of a key; scanning longer lines is expensive. */
const MAX_LINE = 200
const MATERIAL_RUN = /[A-Za-z0-9+/]{16,}={0,2}/g
/** Only base64, perhaps numbered, quoted or concatenated. */
const MATERIAL_LINE = /^[\s"'>+|:\d-]*[A-Za-z0-9+/]*={0,2}[\s"',+;)\\]*$/
const MATERIAL_HEADER =
  /^\s*(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash|Subject|Encryption|Key-Derivation|Argon2-\w+|Public-Lines|Private-Lines): ?/

/** In arguments: at least a line of the shortest key, and not part of a longer word. */
const ARGUMENT_RUN = /(?<![A-Za-z0-9+/](?<!\\[nrtbf]))[A-Za-z0-9+/]{24,}={0,2}/g

type Block = { start: number; /* After the first marker. */ body: number; end: number; closed: boolean }

/** End of the key material after a marker without a closing one; `from` if there is none. */
function materialEnd(text: string, from: number, limit: number): number {
  const rest = text.slice(from, limit)
  let end = 0
  let at = 0
  // The empty match at the end closes the last line.
  for (const feed of [...rest.matchAll(LINE_END), { index: rest.length, 0: '' }]) {
    const line = rest.slice(at, feed.index)
    const run = [...line.matchAll(MATERIAL_RUN)].at(-1)
    if (run !== undefined) end = at + run.index + run[0].length
    else if (line.length < MAX_LINE && (MATERIAL_LINE.test(line) || MATERIAL_HEADER.test(line))) {
      if (line.trim() !== '') end = feed.index
    } else break
    at = feed.index + feed[0].length
  }
  return from + end
}

/** A line of nothing but key material, perhaps numbered or quoted. */
const WHOLE_LINE = /^[\s"'>+|:\d-]*[A-Za-z0-9+/]+={0,2}[\s"',+;)\\]*$/
/** Key material at the end of the first line, if the text before it was cut within that line. */
const END_OF_LINE = /[A-Za-z0-9+/]{16,}={0,2}[\s"',+;)\\]*$/

/**
 * Start of the key material before an end marker without a beginning, as in the output of tail or a partial
 * read. `at` if there is none.
 */
function materialStart(text: string, floor: number, at: number): number {
  const from = Math.max(floor, at - MAX_BLOCK)
  const slice = text.slice(from, at)
  const ends = [...slice.matchAll(LINE_END)]
  let start = at
  let holdsRun = false
  for (let index = ends.length - 1; index >= 0; index--) {
    const lineStart = index === 0 ? 0 : (ends[index - 1]?.index ?? 0) + (ends[index - 1]?.[0].length ?? 0)
    const line = slice.slice(lineStart, ends[index]?.index)
    if (line.length >= MAX_LINE) break
    if (WHOLE_LINE.test(line)) {
      holdsRun ||= /[A-Za-z0-9+/]{16}/.test(line)
      start = from + lineStart
      continue
    }
    const rest = END_OF_LINE.exec(line)
    if (rest !== null) {
      holdsRun = true
      start = from + lineStart + rest.index
    }
    break
  }
  return holdsRun ? start : at
}

/** Finds the next match from increasing positions, and caches it. */
function finderOf(pattern: RegExp, text: string): (from: number) => RegExpExecArray | null {
  let found: RegExpExecArray | null | undefined
  return from => {
    if (found === undefined || (found !== null && found.index < from)) {
      pattern.lastIndex = from
      found = pattern.exec(text)
    }
    return found
  }
}

function* blocksOf(text: string): Generator<Block> {
  const headFrom = finderOf(HEAD, text)
  const tailFrom = finderOf(TAIL, text)
  let covered = 0
  for (;;) {
    const head = headFrom(covered)
    const lone = tailFrom(covered)
    if (lone !== null && (head === null || lone.index < head.index)) {
      const start = materialStart(text, covered, lone.index)
      const end = lone.index + lone[0].length
      if (start < lone.index) yield { start, body: start, end, closed: true }
      covered = end
      continue
    }
    if (head === null) return
    const start = head.index
    const body = start + head[0].length
    const limit = Math.min(headFrom(body)?.index ?? text.length, body + MAX_BLOCK)
    const tail = tailFrom(body)
    const closed = tail !== null && tail.index < limit
    const end = closed ? tail.index + tail[0].length : materialEnd(text, body, limit)
    yield { start, body, end, closed }
    covered = end
  }
}

function replaceBlocks(text: string, replace: (block: Block) => string): string {
  let replaced = ''
  let from = 0
  for (const block of blocksOf(text)) {
    replaced += text.slice(from, block.start) + replace(block)
    from = block.end
  }
  return from === 0 ? text : replaced + text.slice(from)
}

/** Replaces each block and its markers by `mark`; markers without key material, as in code, are kept. */
export const withoutKeyBlocks = (text: string, mark: string): string =>
  replaceBlocks(text, ({ start, body, end, closed }) => {
    const holdsKey = closed ? new RegExp(MATERIAL_RUN.source).test(text.slice(body, end)) : end > body
    return holdsKey ? mark : text.slice(start, end)
  })

/** Replaces each run of key material within a block by `mark`; its markers and all other text are kept. */
export const withoutKeyMaterial = (text: string, mark: string): string =>
  replaceBlocks(text, ({ start, end }) => text.slice(start, end).replace(ARGUMENT_RUN, mark))

/** The beginning of a marker, at the end of a text. */
export const PARTIAL_KEY_BLOCK =
  '-{1,5}(?: ' +
  `?${prefixesOf('BEGIN', '(?: [A-Z0-9 ]{0,80}-{0,4})?')})?$|${START}${prefixesOf('PuTTY-User-Key-File-')}$`

const MARKER = `(?<head>${HEAD.source})|-{4,5} ?END ${LABEL} ?-{4,5}|Private-MAC: ?[0-9a-fA-F]`
const MAX_MARKER = 110
/** How a marker at the end of a text may continue: a dash, digits. */
const MARKER_GOES_ON = '[-0-9a-fA-F]*'
// Compiled once for all texts: lastIndex is set before each use.
const markerAt = new RegExp(MARKER, 'g')
const moreAt = new RegExp(MARKER_GOES_ON, 'y')

/** Blocks of a streamed text: markers are searched for in the new piece only. */
export function createKeyBlocks(): Stretches {
  let blocks: { start: number; body: number; end: number | null }[] = []
  /** Position after the last marker. */
  let covered = 0
  return {
    grow(text, base, from) {
      const last = blocks.at(-1)
      if (last?.end === from) {
        moreAt.lastIndex = from - base
        moreAt.exec(text)
        covered = last.end = base + moreAt.lastIndex
      }
      markerAt.lastIndex = Math.max(0, covered - base, from - base - MAX_MARKER)
      for (let found = markerAt.exec(text); found !== null; found = markerAt.exec(text)) {
        const start = base + found.index
        covered = base + markerAt.lastIndex
        const open = blocks.at(-1)
        if (found.groups?.['head'] !== undefined) blocks.push({ start, body: covered, end: null })
        // A block that was not closed before the next one started stays open.
        else if (open?.end === null && start - open.body < MAX_BLOCK) {
          moreAt.lastIndex = markerAt.lastIndex
          moreAt.exec(text)
          covered = open.end = base + moreAt.lastIndex
          markerAt.lastIndex = moreAt.lastIndex
        }
      }
    },
    begins(at, floor) {
      const least = Math.max(floor, at - MAX_BLOCK + 1)
      const open = blocks.find(({ start, end }) => start >= least && (end === null || end >= at))
      return Math.min(at, open?.start ?? at)
    },
    forget(at) {
      blocks = blocks.filter(({ start, end }) => (end === null ? start + MAX_BLOCK : end) > at)
    },
  }
}
