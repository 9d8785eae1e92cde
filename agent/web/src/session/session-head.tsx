/** The head of a session: title, state, context usage, tokens, cost, and the session's actions. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Button } from 'react-aria-components'
import type { Session } from '@cairn/protocol'
import type { SessionView } from '@cairn/state'
import { client, describeError } from '../api.ts'
import { formatCost, formatCount, formatSpent, formatTokens } from '../format.ts'
import { refreshSession } from '../queries.ts'
import { SessionActions } from '../sessions/session-actions.tsx'
import { SessionLink } from '../sessions/session-link.tsx'
import { canPause, StateStatus } from '../sessions/session-state.tsx'
import '../ui/meter.css'
import type { FollowedSession, Connection } from './followed-session.ts'
import { generalWords } from '../words/general.ts'
import { rich } from '../words/rich.tsx'
import { sessionWords } from '../words/session.ts'

type Props = {
  log: FollowedSession
  session: Session | undefined
  /** Whether the page follows the whole log; otherwise the view says itself whether it is live. */
  isFollowed: boolean
}

export function SessionHead({ log, session, isFollowed }: Props) {
  const { view } = log
  const input = view.input_tokens || session?.input_tokens || 0
  const output = view.output_tokens || session?.output_tokens || 0
  return (
    <div className="session-about">
      <div className="session-name">
        <h1 className="truncate" data-testid="session-title">
          {view.title ?? session?.title ?? generalWords.untitledSession}
        </h1>
        {session && (
          <span data-testid="session-state" data-state={session.state}>
            <StateStatus
              session={session}
              note={isFollowed && isCut(log.connection) ? sessionWords.lastKnown : ''}
            />
          </span>
        )}
      </div>
      <div className="session-sums numeric">
        {isFollowed && <ConnectionBadge log={log} />}
        {session?.parent_id && (
          <span className="truncate">
            {rich(sessionWords.workerOf, {
              title: <SessionLink id={session.parent_id} unnamed={sessionWords.anotherSession} />,
            })}
          </span>
        )}
        {session && (
          <span className="wide truncate" data-testid="session-agent">
            {[session.agent, session.model].filter(Boolean).join(' · ')}
          </span>
        )}
        <span title={generalWords.tokensInOut(formatCount(input), formatCount(output))}>
          {formatTokens(input + output)}
          <span className="wide">{sessionWords.tokensUnit}</span>
        </span>
        <Cost view={view} session={session} />
        {view.context_window > 0 && <ContextGauge used={view.context_tokens} window={view.context_window} />}
      </div>
      {session && (
        <div className="session-deeds">
          <PauseButton session={session} isConnected={!isFollowed || log.connection === 'live'} />
          <SessionActions session={session} />
        </div>
      )}
    </div>
  )
}

/** The page has lost its connection, so what it shows may be outdated. */
const isCut = (connection: FollowedSession['connection']): boolean =>
  connection === 'reconnecting' || connection === 'draining' || connection === 'failed'

/** The total cost of the session and its workers. */
function Cost({ view, session }: { view: SessionView; session: Session | undefined }) {
  const { unpriced_models: unpriced } = view
  const workers = session?.children_cost_usd ?? 0
  const own = view.cost_usd || session?.cost_usd || 0
  return (
    <>
      <span
        data-testid="session-cost"
        title={unpriced.length > 0 ? sessionWords.noPrice(unpriced.join(', ')) : undefined}
      >
        {formatSpent(own + workers, unpriced.length > 0)}
      </span>
      {workers > 0 && <span className="wide">{sessionWords.workersCost(formatCost(workers))}</span>}
    </>
  )
}

function ContextGauge({ used, window }: { used: number; window: number }) {
  const text = sessionWords.context(formatCount(used), formatCount(window))
  return (
    <meter
      className="meter context-gauge"
      min={0}
      max={window}
      high={window * 0.8}
      optimum={0}
      value={used}
      aria-label={text}
      title={text}
    />
  )
}

function PauseButton({ session, isConnected }: { session: Session; isConnected: boolean }) {
  const queries = useQueryClient()
  const pause = useMutation({
    mutationFn: (id: string) => client.call('pauseSession', { params: { id } }),
    onSuccess: next => refreshSession(queries, next.id),
  })
  if (!canPause(session)) return null
  return (
    <Button
      className="button small"
      isDisabled={pause.isPending || !isConnected}
      onPress={() => pause.mutate(session.id)}
      data-testid="pause"
    >
      {generalWords.pause}
    </Button>
  )
}

const WORDS: Record<Connection, string> = sessionWords.connections

/** Shows whether the page still receives events. */
function ConnectionBadge({ log }: { log: FollowedSession }) {
  const { connection } = log
  return (
    <>
      <span
        className="connection"
        data-state={connection}
        data-testid="connection"
        role="status"
        title={connection === 'failed' ? describeError(log.failure) : undefined}
      >
        {WORDS[connection]}
      </span>
      {connection === 'failed' && (
        <Button
          className="button quiet small"
          onPress={() => {
            log.follow()
          }}
        >
          {sessionWords.reconnect}
        </Button>
      )}
    </>
  )
}
