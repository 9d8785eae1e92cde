/** The head of a session: title, state, context usage, tokens, cost, and the session's actions. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Button } from 'react-aria-components'
import type { Session } from '@cairn/protocol'
import { client, describeError } from '../api.ts'
import { formatCost, formatCount, formatSpent, formatTokens } from '../format.ts'
import { refreshSession } from '../queries.ts'
import { SessionActions } from '../sessions/session-actions.tsx'
import { canPause, StateDot, stateWord } from '../sessions/session-state.tsx'
import type { FollowedSession, Connection } from './followed-session.ts'
import { generalWords } from '../words/general.ts'
import { sessionWords } from '../words/session.ts'

export function SessionHead({ log, session }: { log: FollowedSession; session: Session | undefined }) {
  const { view } = log
  const title = view.title ?? session?.title
  const input = view.input_tokens || session?.input_tokens || 0
  const output = view.output_tokens || session?.output_tokens || 0
  return (
    <div className="session-about">
      <div className="session-name">
        {session && <StateDot session={session} />}
        <h1 className="truncate" data-testid="session-title">
          {title ?? generalWords.untitledSession}
        </h1>
        {session && <SessionActions session={session} />}
      </div>
      <div className="session-sums numeric">
        {session && (
          <span
            data-testid="session-state"
            data-state={session.state}
            className={session.state.startsWith('needs_') ? 'badge waiting' : undefined}
          >
            {stateWord(session)}
            {isCut(log.connection) && sessionWords.lastKnown}
          </span>
        )}
        <ConnectionBadge log={log} />
        {session?.parent_id && (
          <Link className="json-link" to="/sessions/$sessionId" params={{ sessionId: session.parent_id }}>
            {sessionWords.parentSession}
          </Link>
        )}
        {session?.model && <span className="wide">{session.model}</span>}
        <span title={generalWords.tokensInOut(formatCount(input), formatCount(output))}>
          {formatTokens(input + output)}
          <span className="wide">{sessionWords.tokensUnit}</span>
        </span>
        <span
          data-testid="session-cost"
          title={
            view.unpriced_models.length > 0
              ? sessionWords.noPrice(view.unpriced_models.join(', '))
              : undefined
          }
        >
          {formatSpent(view.cost_usd, view.unpriced_models.length > 0)}
        </span>
        {session !== undefined && session.children_cost_usd > 0 && (
          <span className="wide">{sessionWords.workersCost(formatCost(session.children_cost_usd))}</span>
        )}
        {view.context_window > 0 && <ContextGauge used={view.context_tokens} window={view.context_window} />}
        <PauseButton session={session} isConnected={log.connection === 'live'} />
      </div>
    </div>
  )
}

/** The page has lost its connection, so what it shows may be outdated. */
const isCut = (connection: FollowedSession['connection']): boolean =>
  connection === 'reconnecting' || connection === 'draining' || connection === 'failed'

function ContextGauge({ used, window }: { used: number; window: number }) {
  const text = sessionWords.context(formatCount(used), formatCount(window))
  return (
    <meter
      className="context-gauge"
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

function PauseButton({ session, isConnected }: { session: Session | undefined; isConnected: boolean }) {
  const queries = useQueryClient()
  const pause = useMutation({
    mutationFn: (id: string) => client.call('pauseSession', { params: { id } }),
    onSuccess: next => refreshSession(queries, next.id),
  })
  if (!session || !canPause(session)) return null
  return (
    <Button
      className="button quiet small"
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
