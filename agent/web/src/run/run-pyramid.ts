/** The pyramid of a table of spans, built once for each state of it. Workers are drawn apart. */
import { buildPyramid, kindNumber, type Pyramid, type Spans } from '@cairn/state'
import { turnFacts } from './turn-facts.ts'

const APART: ReadonlySet<number> = new Set(
  (['turn', 'mark', 'worker'] as const).map(kind => kindNumber(kind)),
)
const known = new WeakMap<Spans, Pyramid>()

/** `now` ends the open spans, so a table that has some is built again as time passes. */
export function pyramidOf(spans: Spans, now: number): Pyramid {
  const before = known.get(spans)
  if (before !== undefined && (before.now === now || !turnFacts(spans).hasOpenStep)) return before
  const pyramid = buildPyramid(spans, now, kind => !APART.has(kind))
  known.set(spans, pyramid)
  return pyramid
}
