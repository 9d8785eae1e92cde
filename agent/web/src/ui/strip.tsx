/**
 * The strip: what the time of a session went to, as a picture. One component in four sizes: a bar in lists, a
 * map above a run, a lane of a comparison, a column of a mission.
 */
import type { SessionShape, ShapeKind } from '@cairn/protocol'
import { stripWords } from '../words/strip.ts'
import './strip.css'

type Props = { shape: SessionShape; size?: 'list' | 'map' | 'lane' | 'column' }

export const Strip = ({ shape, size = 'list' }: Props) => (
  <span className="strip" data-size={size} role="img" aria-label={describeShape(shape)} data-testid="strip">
    {shape.map(([kind, share], at) => (
      // The stretches have no identity but their place.
      <i key={at} data-kind={kind} style={{ flexGrow: share }} />
    ))}
  </span>
)

/** For example "model 60 %, tools 30 %, waiting for you 10 %", largest first. */
function describeShape(shape: SessionShape): string {
  const sums = new Map<ShapeKind, number>()
  for (const [kind, share] of shape) sums.set(kind, (sums.get(kind) ?? 0) + share)
  if (sums.size === 0) return stripWords.empty
  return [...sums]
    .toSorted(([, a], [, b]) => b - a)
    .map(([kind, share]) => stripWords.part(stripWords.kinds[kind], Math.round(share * 100)))
    .join(', ')
}
