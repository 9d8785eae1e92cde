/** All workers below a session as a tree in a table: state, cost, and a button that stops each. */
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type KeyboardEvent, useEffect } from 'react'
import { Button } from 'react-aria-components'
import { type TreeRow, treeRows } from '@cairn/client'
import { type Session, visibleText, type WorkerView } from '@cairn/protocol'
import { noChildren } from '@cairn/state'
import { client, describeError } from '../api.ts'
import { familyOfAny } from '../events/filter.ts'
import { formatCount, formatSpent, formatTokens } from '../format.ts'
import { refreshSession } from '../queries.ts'
import type { FollowedSession } from '../session/followed-session.ts'
import { NeedsStatus, StateMark } from '../sessions/session-state.tsx'
import { Empty } from '../ui/empty.tsx'
import { Status } from '../ui/status.tsx'
import { StopIcon } from '../ui/page-icons.tsx'
import { formatAgo, useNow } from '../ui/use-now.ts'
import { asSession, workerWord } from './worker-words.ts'
import { workersQuery } from './workers-query.ts'
import '../ui/table.css'
import './workers.css'
import { workersWords } from '../words/workers.ts'
import { scrollRegion } from '../ui/scroll-region.ts'
import { generalWords } from '../words/general.ts'
import { sessionWords } from '../words/session.ts'

export function WorkersTab({ log, session }: { log: FollowedSession; session: Session | undefined }) {
  const query = useInfiniteQuery(workersQuery(log.id))
  const { data: workers, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = query
  const now = useNow(1000)
  // Workers start and end in this log, so a change of it triggers a new query.
  const { children } = log.view
  useEffect(() => {
    if (children !== noChildren) void refetch()
  }, [children, refetch])
  const rows = treeRows(workers ?? [])
  return (
    <div className="workers">
      {error && (
        <p className="inline-error" role="alert">
          {describeError(error)}
        </p>
      )}
      {rows.length > 0 && <WorkersTable rows={rows} now={now} rootId={session?.root_id ?? log.id} />}
      {workers?.length === 0 && (
        <Empty testId="no-workers" title={workersWords.none}>
          <p>{workersWords.noneText}</p>
        </Empty>
      )}
      {hasNextPage && (
        <Button
          className="button quiet"
          isDisabled={isFetchingNextPage}
          onPress={() => {
            void fetchNextPage()
          }}
        >
          {isFetchingNextPage ? generalWords.loading : workersWords.older}
        </Button>
      )}
    </div>
  )
}

function WorkersTable({ rows, now, rootId }: { rows: readonly TreeRow[]; now: number; rootId: string }) {
  return (
    <div className="table-scroll workers-scroll" {...scrollRegion(workersWords.caption)}>
      <table className="table workers-table" data-testid="workers-table">
        <caption className="visually-hidden">{workersWords.caption}</caption>
        <thead>
          <tr>
            <th scope="col">{generalWords.goal}</th>
            <th scope="col">{generalWords.agent}</th>
            <th scope="col">{generalWords.state}</th>
            <th scope="col">{workersWords.lastEvent}</th>
            <th scope="col" className="number">
              {generalWords.tokens}
            </th>
            <th scope="col" className="number">
              {generalWords.cost}
            </th>
            <th scope="col">
              <span className="visually-hidden">{workersWords.stop}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <WorkerRow key={row.worker.worker_id} {...row} now={now} rootId={rootId} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function WorkerRow({ worker, level, now, rootId }: TreeRow & { now: number; rootId: string }) {
  const { usage, last_event: last } = worker
  const goal = visibleText(worker.goal ?? generalWords.untitled)
  const tokens = usage.input_tokens + usage.output_tokens
  return (
    <tr
      data-testid="worker-row"
      data-worker-id={worker.worker_id}
      data-status={worker.status}
      data-level={Math.min(level, 4)}
    >
      <th scope="row" className="worker-cell">
        {level > 1 && <span className="visually-hidden">{workersWords.level(level)} </span>}
        <StateMark session={asSession(worker)} />
        <Link
          className="worker-link truncate"
          to="/sessions/$sessionId"
          params={{ sessionId: worker.worker_id }}
          title={goal}
          onKeyDown={moveFocus}
        >
          {goal}
        </Link>
      </th>
      <td className="worker-agent">{worker.agent}</td>
      <td className="worker-state">
        {worker.blocked_reason !== null ? (
          <span title={visibleText(worker.blocked_reason)}>
            <Status kind="waiting" word={generalWords.blocked} />
          </span>
        ) : worker.state.startsWith('needs_') ? (
          <NeedsStatus session={worker} />
        ) : (
          workerWord(worker)
        )}
      </td>
      <td className="worker-last">
        {last !== null && (
          <>
            <code data-family={familyOfAny(last.type)}>{last.type}</code>{' '}
            <time className="faint" dateTime={last.at}>
              {formatAgo(last.at, now)}
            </time>
          </>
        )}
      </td>
      <td
        className="number worker-tokens"
        title={generalWords.tokensInOut(formatCount(usage.input_tokens), formatCount(usage.output_tokens))}
      >
        {formatTokens(tokens)}
        <span className="worker-unit">{sessionWords.tokensUnit}</span>
      </td>
      <td className="number worker-cost">{formatSpent(usage.cost_usd, usage.unpriced)}</td>
      <td className="worker-stop">
        {worker.status === 'open' && <StopButton worker={worker} goal={goal} rootId={rootId} />}
      </td>
    </tr>
  )
}

function StopButton({ worker, goal, rootId }: { worker: WorkerView; goal: string; rootId: string }) {
  const queries = useQueryClient()
  const stop = useMutation({
    mutationFn: () => client.call('stopSession', { params: { id: worker.worker_id } }),
    onSettled: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ['workers'] }),
        refreshSession(queries, worker.worker_id),
        refreshSession(queries, rootId),
      ]),
  })
  return (
    <Button
      className="button quiet small square"
      aria-label={workersWords.stopWorker(goal)}
      isDisabled={stop.isPending}
      onPress={() => stop.mutate()}
      data-testid="stop-worker"
    >
      <StopIcon />
    </Button>
  )
}

/** The arrow keys move between the links of the rows. */
function moveFocus(event: KeyboardEvent<HTMLElement>) {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
  const links = [...document.querySelectorAll<HTMLElement>('.worker-link')]
  event.preventDefault()
  links[links.indexOf(event.currentTarget) + (event.key === 'ArrowDown' ? 1 : -1)]?.focus()
}
