/** The running workers of this session, and what they need from a person. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { WorkerView } from '@cairn/protocol'
import { visibleText } from '@cairn/protocol'
import type { Children } from '@cairn/state'
import { NeedsBadge } from '../sessions/session-state.tsx'
import { workersQuery } from '../workers/workers-query.ts'
import './children-card.css'
import { chatWords } from '../words/chat.ts'
import { generalWords } from '../words/general.ts'

export function ChildrenCard({ sessionId, state }: { sessionId: string; state: Children }) {
  const { data: workers = [] } = useInfiniteQuery(workersQuery(sessionId))
  const waiting = workers.filter(worker => worker.status === 'open' && worker.waiting_on !== null)
  // Workers of tasks are counted as tasks.
  const atWork = state.open.filter(child => child.task_id === undefined)
  if (atWork.length === 0 && waiting.length === 0) return null
  return (
    <section className="children" data-testid="children" aria-label={chatWords.workers}>
      <p>
        <span className="dot" data-state="running" aria-hidden="true" />
        <span>
          {atWork.length === 0
            ? chatWords.workersWaiting(waiting.length)
            : chatWords.workersRunning(atWork.length)}
        </span>
        <Link className="json-link" to="/sessions/$sessionId/workers" params={{ sessionId }}>
          {chatWords.showWorkers}
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
        {chatWords.fromWorker(visibleText(worker.goal ?? generalWords.untitled))}
      </Link>
    </li>
  )
}
