/** The run of a session: a waterfall of its turns, steps and workers, and the selected step to read. */
import {
  type ComponentProps,
  type CSSProperties,
  lazy,
  Suspense,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import type { Session } from '@cairn/protocol'
import { describeError } from '../api.ts'
import { formatDuration } from '../format.ts'
import type { FollowedSession } from '../session/followed-session.ts'
import { WHOLE_LOG_MAX } from '../live/whole-log.ts'
import { Empty } from '../ui/empty.tsx'
import { Status } from '../ui/status.tsx'
import { useMediaQuery } from '../ui/use-media-query.ts'
import { errorsWords } from '../words/errors.ts'
import { generalWords } from '../words/general.ts'
import { runWords } from '../words/run.ts'
import { Minimap } from './minimap.tsx'
import { PaneEdge, type Reading, ReadingPane, READINGS } from './reading-pane.tsx'
import { isFilteringRun, matcherOf, NO_RUN_FILTER } from './run-filter.ts'
import { RunGrid, type RunGridHandle } from './run-grid.tsx'
import { type RunCommand, useRunKeys } from './run-keys.ts'
import type { RunSource } from './run-source.ts'
import { RunToolbar } from './run-toolbar.tsx'
import { countFailures } from './selection.ts'
import { turnFacts } from './turn-facts.ts'
import { useMoves } from './use-moves.ts'
import { useRunAddress } from './use-run-address.ts'
import { type Run, useRun, useRunSource } from './use-run.ts'
import './run.css'
import './run-rows.css'
import './run-pane.css'

type Props = { log: FollowedSession; session: Session | undefined }

export function RunTab({ log, session }: Props) {
  const isKnown = session !== undefined || log.index.events.length > 0
  const [isWhole, setWhole] = useState<boolean | null>(null)
  // Decided once: a log that grows past the limit stays as it is.
  if (isKnown && isWhole === null)
    setWhole(log.index.events.length > 0 || (session?.last_event_id ?? 0) <= WHOLE_LOG_MAX)
  if (isWhole === null) return <p className="empty">{generalWords.loading}</p>
  return <OpenRun log={log} session={session} isWhole={isWhole} />
}

function OpenRun({ log, session, isWhole }: Props & { isWhole: boolean }) {
  const source = useRunSource(log, isWhole)
  if (source.failure !== null && !source.isReady)
    return (
      <Empty isAlert title={errorsWords.sessionFailed}>
        <p>{describeError(source.failure)}</p>
      </Empty>
    )
  if (!source.isReady) return <p className="empty">{generalWords.loading}</p>
  return <RunView source={source} log={log} session={session} />
}

const WIDTH_KEY = 'cairn-run-pane'
const DEFAULT_PX = 440
const ROW = { wide: 28, narrow: 46 }

function RunView({ source, log, session }: Props & { source: RunSource }) {
  const run = useRun(source, session)
  useRunAddress(run)
  const isPhone = useMediaQuery('(max-width: 760px)')
  const isDrawer = useMediaQuery('(max-width: 1099px)')
  const [isPaneWanted, setPaneWanted] = useState<boolean | null>(null)
  const isPaneOpen = isPaneWanted ?? !isDrawer
  const [width, setWidth] = useState(() => Number(localStorage.getItem(WIDTH_KEY)) || DEFAULT_PX)
  const [reading, setReading] = useState<Reading>('chat')
  const [isHelping, setHelping] = useState(false)
  const grid = useRef<RunGridHandle>(null)
  const pane = useRef<HTMLElement>(null)
  const field = useRef<HTMLInputElement>(null)
  const moves = useMoves(run, grid)
  useReveal(run, grid)
  useFirstFocus(grid)
  const others: Partial<Record<RunCommand, () => void>> = {
    'next-reading': () => setReading(READINGS[(READINGS.indexOf(reading) + 1) % READINGS.length] ?? 'chat'),
    pane() {
      setPaneWanted(!isPaneOpen)
      grid.current?.focus()
    },
    'into-pane'() {
      if (run.selection === null) return moves('first')
      setPaneWanted(true)
      requestAnimationFrame(() => pane.current?.focus())
    },
    filter: () => field.current?.focus(),
    help: () => setHelping(true),
    out() {
      if (isDrawer && isPaneOpen) setPaneWanted(false)
      grid.current?.focus()
    },
  }
  const onCommand = (command: RunCommand) => (others[command] ?? (() => moves(command)))()
  useRunKeys(onCommand)
  const activate = (position: number) => {
    moves.select(position)
    if (isDrawer) setPaneWanted(true)
  }
  return (
    <div
      className="run"
      data-pane={isPaneOpen || undefined}
      style={{ '--pane': `${width}px` } as CSSProperties}
      data-testid="run"
      data-ready={run.spans.count > 0 || undefined}
    >
      <div className="run-waterfall">
        <RunHead run={run} field={field} isPaneOpen={isPaneOpen} onCommand={onCommand} />
        <RunGrid
          run={run}
          rowHeight={isPhone ? ROW.narrow : ROW.wide}
          handle={grid}
          onActivate={activate}
          onFlip={moves.flip}
        />
        {run.rows.length === 0 && (
          <NoRows run={run} isReading={run.spans.count === 0 && log.view.last_id < lastEventOf(session)} />
        )}
        <RunFoot run={run} />
      </div>
      {isPaneOpen && isDrawer && <Scrim onPress={() => setPaneWanted(false)} />}
      {isPaneOpen && !isDrawer && <PaneEdge width={width} onWidth={px => setWidth(kept(px))} />}
      {isPaneOpen && (
        <ReadingPane
          run={run}
          log={log}
          reading={reading}
          pane={pane}
          onReading={setReading}
          onClose={() => onCommand('pane')}
          onStep={by => moves(by === 1 ? 'down' : 'up')}
        />
      )}
      {isHelping && <Help onClose={() => setHelping(false)} />}
    </div>
  )
}

const RunHelp = lazy(() => import('./run-help.tsx'))

const Help = ({ onClose }: { onClose: () => void }) => (
  <Suspense fallback={null}>
    <RunHelp onClose={onClose} />
  </Suspense>
)

const lastEventOf = (session: Session | undefined): number => session?.last_event_id ?? 0

/** The width of the pane, kept for the next visit. */
function kept(px: number): number {
  localStorage.setItem(WIDTH_KEY, String(px))
  return px
}

const Scrim = ({ onPress }: { onPress: () => void }) => (
  <button
    type="button"
    className="run-scrim"
    aria-label={runWords.hideReading}
    tabIndex={-1}
    onClick={onPress}
  />
)

type HeadProps = Omit<ComponentProps<typeof RunToolbar>, 'failures'>

/** The toolbar, and the whole run in small. */
function RunHead(props: HeadProps) {
  const { run } = props
  const failures = useMemo(() => countFailures(run.spans), [run.spans])
  const matches = useMemo(() => matcherOf(run.filter), [run.filter])
  return (
    <>
      <RunToolbar {...props} failures={failures} />
      <div className="run-overview">
        <p>
          <strong>{runWords.wholeRun}</strong>
          <span className="faint numeric">
            {runWords.sums(turnFacts(run.spans).turns.length, formatDuration(run.axis.to - run.axis.from))}
          </span>
        </p>
        <Minimap run={run} matches={matches} />
      </div>
    </>
  )
}

/** Brings the selected row into view when the selection changes, and not when rows are added. */
function useReveal({ selection, position }: Run, grid: { readonly current: RunGridHandle | null }): void {
  const shown = useRef<unknown>(null)
  useEffect(() => {
    if (selection === null || position === -1 || shown.current === selection) return
    shown.current = selection
    grid.current?.reveal(position)
  })
}

/** Focuses the rows at first, unless the reader is moving through the tabs with the arrow keys. */
function useFirstFocus(grid: { readonly current: RunGridHandle | null }): void {
  useEffect(() => {
    const held = document.activeElement
    if (held === null || held === document.body || held.matches('[role="tab"]:not(:focus-visible)'))
      grid.current?.focus()
  }, [grid])
}

function NoRows({ run, isReading }: { run: Run; isReading: boolean }) {
  if (isReading) return <p className="run-none muted">{generalWords.loading}</p>
  return (
    <div className="run-none muted" data-testid="run-empty">
      {isFilteringRun(run.filter) ? (
        <>
          <p>{runWords.noMatch}</p>
          <button type="button" className="button" onClick={() => run.setFilter(NO_RUN_FILTER)}>
            {runWords.clearFilter}
          </button>
        </>
      ) : (
        <>
          <p>{runWords.empty}</p>
          <p>{runWords.emptyText}</p>
        </>
      )}
    </div>
  )
}

function RunFoot({ run }: { run: Run }) {
  return (
    <footer className="run-foot">
      <ul className="run-legend" aria-hidden="true">
        {Object.entries(runWords.legend).map(([kind, word]) => (
          <li key={kind}>
            <i data-kind={kind} />
            {word}
          </li>
        ))}
      </ul>
      {run.isAlive && <FollowButton run={run} />}
    </footer>
  )
}

/** While it does not follow, the button counts the steps that were added since. */
function FollowButton({ run }: { run: Run }) {
  const { isFollowing, added } = run
  return (
    <button
      type="button"
      className="button quiet small run-follow"
      aria-pressed={isFollowing}
      onClick={() => run.setFollowing(!isFollowing)}
      data-testid="run-follow"
    >
      {isFollowing ? (
        <Status kind="running" word={runWords.following} />
      ) : added === 0 ? (
        runWords.follow
      ) : (
        runWords.newRows(added)
      )}
    </button>
  )
}
