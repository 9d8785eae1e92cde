/**
 * Private keys as blocks of text: PEM and its relatives (PKCS, OpenSSH, SSH2, PGP), and PuTTY's own.
 *
 * In ordinary text a block goes from its first marker to its last; one that was cut off goes as far as lines
 * of key material follow. In the arguments of a call, text between markers may be anything, a command too:
 * there only runs of key material go, and every other character stays for whoever approves or audits the
 * call.
 */
import { begun, START } from './prefixed-tokens.ts'
import type { Stretches } from './runs.ts'

const LABEL = '[A-Z0-9 ]{0,60}PRIVATE KEY(?: BLOCK)?'
const HEAD = new RegExp(`-{4,5} ?BEGIN ${LABEL} ?-{4,5}|PuTTY-User-Key-File-\\d`, 'g')
const TAIL = new RegExp(`-{4,5} ?END ${LABEL} ?-{4,5}|Private-MAC: ?[0-9a-fA-F]+`, 'g')
/** The words without which there is no block. */
export const KEY_BLOCK_WORDS = ['PRIVATE KEY', 'PuTTY-User-Key-File-']

/** The largest keys in use are a third of that; what is farther apart does not belong together. */
const MAX_BLOCK = 32_768

/** A line ends at a line feed, or at one that is written as an escape of a JSON text within the text. */
const LINE_END = /\r?\n|(?:\\r)?\\n/g
/** No line of a key is longer, and looking at a longer one is dear. */
const LONGEST_LINE = 200
const MATERIAL_RUN = /[A-Za-z0-9+/]{16,}={0,2}/g
/** Nothing but base64, perhaps numbered, quoted or concatenated. */
const MATERIAL_LINE = /^[\s"'>+|:\d-]*[A-Za-z0-9+/]*={0,2}[\s"',+;)\\]*$/
const MATERIAL_HEADER =
  /^\s*(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash|Subject|Encryption|Key-Derivation|Argon2-\w+|Public-Lines|Private-Lines): ?/

/** In arguments: as long as a line of the shortest key, and not part of a longer word. */
const ARGUMENT_RUN = /(?<![A-Za-z0-9+/](?<!\\[nrtbf]))[A-Za-z0-9+/]{24,}={0,2}/g

type Block = { start: number; /** Behind the first marker. */ body: number; end: number; closed: boolean }

/** Where the key material ends that follows a marker without an end; `from` when none follows. */
function materialEnd(text: string, from: number, limit: number): number {
  const rest = text.slice(from, limit)
  let end = 0
  let at = 0
  // The empty feed at the end closes the last line.
  for (const feed of [...rest.matchAll(LINE_END), { index: rest.length, 0: '' }]) {
    const line = rest.slice(at, feed.index)
    const run = [...line.matchAll(MATERIAL_RUN)].at(-1)
    if (run !== undefined) end = at + run.index + run[0].length
    else if (line.length < LONGEST_LINE && (MATERIAL_LINE.test(line) || MATERIAL_HEADER.test(line))) {
      if (line.trim() !== '') end = feed.index
    } else break
    at = feed.index + feed[0].length
  }
  return from + end
}

/** A line of nothing but key material, perhaps numbered or quoted. */
const WHOLE_LINE = /^[\s"'>+|:\d-]*[A-Za-z0-9+/]+={0,2}[\s"',+;)\\]*$/
/** What the first line has of it, where the text before it was cut off in the same line. */
const END_OF_LINE = /[A-Za-z0-9+/]{16,}={0,2}[\s"',+;)\\]*$/

/**
 * Where the key material begins that stands before an end marker without a beginning: the output of tail, or
 * of a file that was read from a later line. `at` when none stands there.
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
    if (line.length >= LONGEST_LINE) break
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

/** Finds what comes next from ever later places; what was found once is not looked for again. */
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

/** Each block with its markers becomes `mark`; markers without key material, as code has them, stay. */
export const withoutKeyBlocks = (text: string, mark: string): string =>
  replaceBlocks(text, ({ start, body, end, closed }) => {
    const holdsKey = closed ? new RegExp(MATERIAL_RUN.source).test(text.slice(body, end)) : end > body
    return holdsKey ? mark : text.slice(start, end)
  })

/** Each run of key material within a block becomes `mark`; its markers and all other text stay. */
export const withoutKeyMaterial = (text: string, mark: string): string =>
  replaceBlocks(text, ({ start, end }) => text.slice(start, end).replace(ARGUMENT_RUN, mark))

/** The beginning of a marker, at the end of a text. */
export const KEY_BLOCK_BEGUN =
  '-{1,5}(?: ' +
  `?${begun('BEGIN', '(?: [A-Z0-9 ]{0,80}-{0,4})?')})?$|${START}${begun('PuTTY-User-Key-File-')}$`

const MARKER = `(?<head>${HEAD.source})|-{4,5} ?END ${LABEL} ?-{4,5}|Private-MAC: ?[0-9a-fA-F]`
const LONGEST_MARKER = 110
/** What a marker at the end of a text may have more of: a dash, digits. */
const MARKER_GOES_ON = '[-0-9a-fA-F]*'
// Compiled once, for every text: both are told where to begin before each use.
const markerAt = new RegExp(MARKER, 'g')
const moreAt = new RegExp(MARKER_GOES_ON, 'y')

/** The blocks of a text that arrives in pieces: each marker is looked for in what is new. */
export function createKeyBlocks(): Stretches {
  let blocks: { start: number; body: number; end: number | null }[] = []
  /** Behind the last marker. */
  let covered = 0
  return {
    grow(text, base, from) {
      const last = blocks.at(-1)
      if (last?.end === from) {
        moreAt.lastIndex = from - base
        moreAt.exec(text)
        covered = last.end = base + moreAt.lastIndex
      }
      markerAt.lastIndex = Math.max(0, covered - base, from - base - LONGEST_MARKER)
      for (let found = markerAt.exec(text); found !== null; found = markerAt.exec(text)) {
        const start = base + found.index
        covered = base + markerAt.lastIndex
        const open = blocks.at(-1)
        if (found.groups?.['head'] !== undefined) blocks.push({ start, body: covered, end: null })
        // One that was not closed before the next began is closed by nothing.
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
