/**
 * Summaries of neighbouring spans, four to a bucket, level upon level. A drawing of a run descends only where
 * a bucket is wider than a pixel, so its cost depends on its width and not on the length of the log.
 */
import { endOf, hasFlag, kindNumber, type Spans } from './spans.ts'

export type Level = {
  /** Epoch milliseconds of the first start and the last end. */
  from: Float64Array
  to: Float64Array
  /** Drawn spans in the bucket. */
  count: Uint32Array
  /** The kind of its longest span, and how long that is. */
  kind: Uint8Array
  longest: Float64Array
  /** Bits: 1 a span failed, 2 a span waits for a person. */
  signs: Uint8Array
}
export type Pyramid = {
  readonly levels: readonly Level[]
  readonly spans: Spans
  readonly now: number
  readonly isDrawn: (kind: number) => boolean
}

export const BUCKET = 4
export const SIGN = { failed: 1, waiting: 2 } as const

const NOT_DRAWN: ReadonlySet<number> = new Set((['turn', 'mark'] as const).map(kind => kindNumber(kind)))

const levelOf = (length: number): Level => ({
  from: new Float64Array(length).fill(Infinity),
  to: new Float64Array(length).fill(-Infinity),
  count: new Uint32Array(length),
  kind: new Uint8Array(length),
  longest: new Float64Array(length),
  signs: new Uint8Array(length),
})

/** Whether a kind is drawn: turns only hold others, and marks have no duration. */
const isStep = (kind: number): boolean => !NOT_DRAWN.has(kind)

/** `now` ends the open spans. */
export function buildPyramid(spans: Spans, now: number, isDrawn = isStep): Pyramid {
  const levels = [lowest(spans, now, isDrawn)]
  for (let below = levels[0]; below !== undefined && below.count.length > 1; below = levels.at(-1)) {
    const level = levelOf(Math.ceil(below.count.length / BUCKET))
    for (let at = 0; at < below.count.length; at++) join(level, Math.floor(at / BUCKET), below, at)
    levels.push(level)
  }
  return { levels, spans, now, isDrawn }
}

function lowest(spans: Spans, now: number, isDrawn: Pyramid['isDrawn']): Level {
  const level = levelOf(Math.max(1, Math.ceil(spans.count / BUCKET)))
  for (let span = 0; span < spans.count; span++) {
    const kind = spans.kind[span] ?? 0
    if (!isDrawn(kind)) continue
    const at = Math.floor(span / BUCKET)
    const from = spans.from[span] ?? 0
    const to = endOf(spans, span, now)
    level.from[at] = Math.min(level.from[at] ?? Infinity, from)
    level.to[at] = Math.max(level.to[at] ?? -Infinity, to)
    level.count[at] = (level.count[at] ?? 0) + 1
    if ((level.longest[at] ?? 0) <= to - from) {
      level.longest[at] = to - from
      level.kind[at] = kind
    }
    const failed = hasFlag(spans, span, 'failed') ? SIGN.failed : 0
    const waiting = kind === kindNumber('wait') ? SIGN.waiting : 0
    level.signs[at] = (level.signs[at] ?? 0) | failed | waiting
  }
  return level
}

function join(level: Level, at: number, below: Level, child: number): void {
  if (below.count[child] === 0) return
  level.from[at] = Math.min(level.from[at] ?? Infinity, below.from[child] ?? Infinity)
  level.to[at] = Math.max(level.to[at] ?? -Infinity, below.to[child] ?? -Infinity)
  level.count[at] = (level.count[at] ?? 0) + (below.count[child] ?? 0)
  level.signs[at] = (level.signs[at] ?? 0) | (below.signs[child] ?? 0)
  if ((level.longest[at] ?? 0) > (below.longest[child] ?? 0)) return
  level.longest[at] = below.longest[child] ?? 0
  level.kind[at] = below.kind[child] ?? 0
}

/** A bucket or a span to draw. */
export type Piece = { from: number; to: number; kind: number; signs: number; span: number }

/**
 * The pieces that a drawing needs, from left to right: single spans where they are longer than `minMs`, and
 * buckets where more would lie within it. `span` is -1 for a bucket.
 */
export function* piecesOf(
  { levels, spans, now, isDrawn }: Pyramid,
  { first, last, minMs }: { first: number; last: number; minMs: number },
): Generator<Piece> {
  yield* descend(levels.length - 1, 0)

  function* descend(depth: number, at: number): Generator<Piece> {
    const width = BUCKET ** (depth + 1)
    const level = levels[depth]
    if (level === undefined || level.count[at] === 0) return
    if (at * width > last || (at + 1) * width - 1 < first) return
    // The last bucket is not full.
    const isWithin = at * width >= first && Math.min((at + 1) * width, spans.count) - 1 <= last
    const from = level.from[at] ?? 0
    const to = level.to[at] ?? 0
    if (isWithin && to - from <= minMs)
      return yield { from, to, kind: level.kind[at] ?? 0, signs: level.signs[at] ?? 0, span: -1 }
    for (let child = at * BUCKET; child < (at + 1) * BUCKET; child++)
      if (depth > 0) yield* descend(depth - 1, child)
      else if (child >= first && child <= last && child < spans.count) yield* single(child)
  }

  function* single(span: number): Generator<Piece> {
    const kind = spans.kind[span] ?? 0
    if (!isDrawn(kind)) return
    const signs =
      (hasFlag(spans, span, 'failed') ? SIGN.failed : 0) | (kind === kindNumber('wait') ? SIGN.waiting : 0)
    yield { from: spans.from[span] ?? 0, to: endOf(spans, span, now), kind, signs, span }
  }
}
