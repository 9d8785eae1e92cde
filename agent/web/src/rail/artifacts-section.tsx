/** The artifacts of the session, each in its newest version. */
import { type ItemOf } from '../chat/chat-item.ts'
import { ArtifactItem } from '../artifacts/artifact-item.tsx'
import type { SessionView } from '@cairn/state'
import { railWords } from '../words/rail.ts'

type Props = { sessionId: string; view: SessionView }

export function ArtifactsSection({ sessionId, view }: Props) {
  const newest = new Map<string, ItemOf<'artifact'>>()
  for (const item of view.items) if (item.kind === 'artifact') newest.set(item.artifact_id, item)
  if (newest.size === 0) return <p className="rail-empty muted">{railWords.noArtifacts}</p>
  return [...newest.values()]
    .toReversed()
    .map(item => <ArtifactItem key={item.artifact_id} sessionId={sessionId} item={item} />)
}
