/**
 * The details panel beside the chat: plan, changes, files, artifacts, timeline. On a phone it is a sheet over
 * the page.
 */
import { type KeyboardEvent, useEffect, useRef } from 'react'
import type { Session } from '@cairn/protocol'
import type { FollowedSession } from '../session/followed-session.ts'
import { CloseIcon } from '../ui/icons.tsx'
import { ChangesSection } from './changes-section.tsx'
import { FilesSection } from './files-section.tsx'
import { Overview } from './overview.tsx'
import { type Section, SECTION_IDS } from './sections.ts'
import { TimelineSection } from './timeline-section.tsx'
import './rail.css'
import { railWords } from '../words/rail.ts'
import type { ItemOf } from '../chat/chat-item.ts'
import { ArtifactItem } from '../artifacts/artifact-item.tsx'
import type { SessionView } from '@cairn/state'

type Props = {
  log: FollowedSession
  session: Session | undefined
  section: Section
  onSection: (section: Section | null) => void
  onEvent: (id: number) => void
  /** Opened by the person, not by an address or by itself. */
  takesFocus: boolean
}

// React.lazy needs a default export.
export default function Rail({ log, session, section, onSection, onEvent, takesFocus }: Props) {
  const rail = useRef<HTMLElement>(null)
  // The rail takes the focus when a person opens it, and returns it when it closes.
  const opener = useRef<Element | null>(null)
  const isAsked = useRef(takesFocus)
  useEffect(() => {
    if (!isAsked.current) return undefined
    opener.current = document.activeElement
    rail.current?.querySelector<HTMLElement>('[aria-selected="true"]')?.focus({ preventScroll: true })
    return () => {
      if (opener.current instanceof HTMLElement && opener.current.isConnected) opener.current.focus()
    }
  }, [])
  const close = () => onSection(null)
  return (
    <aside
      className="rail"
      data-section={section}
      aria-label={railWords.details}
      ref={rail}
      data-testid="rail"
    >
      <header className="rail-head">
        <div className="rail-tabs" role="tablist" aria-label={railWords.details}>
          {SECTION_IDS.map(id => (
            <button
              key={id}
              type="button"
              role="tab"
              id={`rail-tab-${id}`}
              aria-selected={id === section}
              aria-controls={id === section ? 'rail-panel' : undefined}
              tabIndex={id === section ? 0 : -1}
              className="rail-tab"
              data-testid={`rail-${id}`}
              onClick={() => onSection(id)}
              onKeyDown={event => {
                if (event.key === 'Escape') close()
                else moveToNext(event)
              }}
            >
              {railWords.sections[id]}
            </button>
          ))}
        </div>
        <button
          type="button"
          className="button quiet square"
          aria-label={railWords.close}
          onClick={close}
          data-testid="rail-close"
        >
          <CloseIcon />
        </button>
      </header>
      <div
        className="rail-body"
        id="rail-panel"
        role="tabpanel"
        aria-labelledby={`rail-tab-${section}`}
        tabIndex={-1}
      >
        <Body log={log} session={session} section={section} onEvent={onEvent} />
      </div>
    </aside>
  )
}

/** The arrow keys select the next or previous tab, and wrap around. */
function moveToNext(event: KeyboardEvent<HTMLElement>) {
  if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return
  event.preventDefault()
  const tabs = [...(event.currentTarget.parentElement?.children ?? [])] as HTMLElement[]
  const at = tabs.indexOf(event.currentTarget) + (event.key === 'ArrowRight' ? 1 : -1)
  const next = tabs.at(at % tabs.length)
  next?.focus()
  next?.click()
}

function Body({ log, session, section, onEvent }: Omit<Props, 'onSection' | 'takesFocus'>) {
  const { view, id } = log
  switch (section) {
    case 'plan':
      return <Overview log={log} session={session} onEvent={onEvent} />
    case 'changes':
      return <ChangesSection log={log} onEvent={onEvent} />
    case 'files':
      return <FilesSection sessionId={id} revision={view.tool_call_count} />
    case 'artifacts':
      return <ArtifactsSection sessionId={id} view={view} />
    case 'timeline':
      return <TimelineSection log={log} onEvent={onEvent} />
  }
}

type ArtifactsSectionProps = { sessionId: string; view: SessionView }

/** The artifacts of the session, each in its newest version. */
function ArtifactsSection({ sessionId, view }: ArtifactsSectionProps) {
  const newest = new Map<string, ItemOf<'artifact'>>()
  for (const item of view.items) if (item.kind === 'artifact') newest.set(item.artifact_id, item)
  if (newest.size === 0) return <p className="rail-empty muted">{railWords.noArtifacts}</p>
  return [...newest.values()]
    .toReversed()
    .map(item => <ArtifactItem key={item.artifact_id} sessionId={sessionId} item={item} />)
}
