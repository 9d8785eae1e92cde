/** The workers that are at work for this session, and what any of them asks of a person. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { WorkerView } from '@cairn/protocol'
import { visibleText } from '@cairn/protocol'
import type { Children } from '@cairn/state'
import { plural } from '../format.ts'
import { NeedsBadge } from '../sessions/session-state.tsx'
import { workersQuery } from '../workers/workers-query.ts'
import './children-card.css'

export function ChildrenCard({ sessionId, state }: { sessionId: string; state: Children }) {
  const { data: workers = [] } = useInfiniteQuery(workersQuery(sessionId))
  const waiting = workers.filter(worker => worker.status === 'open' && worker.waiting_on !== null)
  // Those of tasks are counted as tasks.
  const atWork = state.open.filter(child => child.task_id === undefined)
  if (atWork.length === 0 && waiting.length === 0) return null
  return (
    <section className="children" data-testid="children" aria-label="Workers">
      <p>
        <span className="dot" data-state="running" aria-hidden="true" />
        <span>
          {plural(atWork.length === 0 ? waiting.length : atWork.length, 'worker')}{' '}
          {atWork.length === 0 ? 'waiting for you' : 'at work'}
        </span>
        <Link className="json-link" to="/sessions/$sessionId/workers" params={{ sessionId }}>
          Show them
        </Link>
      </p>
      {waiting.length > 0 && (
        <ul>
          {waiting.map(worker => (
            <Waiting key={worker.worker_id} worker={worker} />
          ))}
        </ul>
      )}
    </section>
  )
}

function Waiting({ worker }: { worker: WorkerView }) {
  return (
    <li data-testid="worker-waits">
      <NeedsBadge session={worker} />
      <Link className="json-link truncate" to="/sessions/$sessionId" params={{ sessionId: worker.worker_id }}>
        from worker {visibleText(worker.goal ?? 'without a title')}
      </Link>
    </li>
  )
}
