/** An artifact, where the session published it. Its content is fetched when it comes near the viewport. */
import { useQuery } from '@tanstack/react-query'
import { Suspense, memo, useEffect, useRef, useState } from 'react'
import { describeError } from '../api.ts'
import type { ItemOf } from '../chat/chat-item.ts'
import { artifactQuery } from '../queries.ts'
import { ArtifactActions, ArtifactSource } from './artifact-actions.tsx'
import { ArtifactBodyView } from './artifact-body.tsx'
import './artifacts.css'
import { generalWords } from '../words/general.ts'

export const ArtifactItem = memo(function ArtifactItem({
  sessionId,
  item,
}: {
  sessionId: string
  item: ItemOf<'artifact'>
}) {
  const [isNear, setNear] = useState(false)
  const [isSource, setSource] = useState(false)
  const frame = useRef<HTMLElement>(null)
  useEffect(() => {
    if (!frame.current) return
    const observer = new IntersectionObserver(
      seen => {
        if (seen.some(entry => entry.isIntersecting)) setNear(true)
      },
      // `rootMargin` only extends the root, so the root must be the scroll container itself.
      { root: frame.current.closest('.chat-scroll'), rootMargin: '400px' },
    )
    observer.observe(frame.current)
    return () => observer.disconnect()
  }, [])
  const { data, error } = useQuery({
    ...artifactQuery(sessionId, item.artifact_id, item.event_id),
    enabled: isNear,
  })
  const caption = data && 'caption' in data.spec ? data.spec.caption : undefined
  return (
    <figure
      className="artifact"
      ref={frame}
      data-testid="artifact"
      data-kind={item.artifact_kind}
      data-artifact-id={item.artifact_id}
      aria-label={item.name}
    >
      <header>
        <strong className="truncate">{item.name}</strong>
        <span className="badge">{item.artifact_kind}</span>
        {data && (
          <ArtifactActions
            sessionId={sessionId}
            name={item.name}
            spec={data.spec}
            isSource={isSource}
            onSource={setSource}
          />
        )}
      </header>
      {error && <p className="inline-error">{describeError(error)}</p>}
      {data ? (
        <Suspense fallback={<p className="artifact-wait faint">{generalWords.drawing}</p>}>
          {isSource ? (
            <ArtifactSource spec={data.spec} />
          ) : (
            <ArtifactBodyView sessionId={sessionId} name={item.name} spec={data.spec} />
          )}
        </Suspense>
      ) : (
        !error && <p className="artifact-wait faint">{generalWords.loading}</p>
      )}
      {caption !== undefined && <figcaption className="muted">{caption}</figcaption>}
    </figure>
  )
})
