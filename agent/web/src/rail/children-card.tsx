/** The running workers of this session, and what they need from a person. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { WorkerView } from '@cairn/protocol'
import { visibleText } from '@cairn/protocol'
import type { Children } from '@cairn/state'
import { NeedsStatus } from '../sessions/session-state.tsx'
import { Status } from '../ui/status.tsx'
import { workersQuery } from '../workers/workers-query.ts'
import { chatWords } from '../words/chat.ts'
import { generalWords } from '../words/general.ts'

export function ChildrenCard({ sessionId, state }: { sessionId: string; state: Children }) {
  const { data: workers = [] } = useInfiniteQuery(workersQuery(sessionId))
  const waiting = workers.filter(worker => worker.status === 'open' && worker.waiting_on !== null)
  // Workers of tasks are counted as tasks.
  const atWork = state.open.filter(child => child.task_id === undefined)
  if (atWork.length === 0 && waiting.length === 0) return null
  return (
    <section className="rail-part" data-testid="children" aria-labelledby="rail-workers-head">
      <header className="rail-part-head">
        <h2 id="rail-workers-head">{chatWords.workers}</h2>
        <span className="rail-facts">
          {atWork.length > 0 && <Status kind="running" word={chatWords.countRunning(atWork.length)} />}
          <Link className="json-link" to="/sessions/$sessionId/workers" params={{ sessionId }}>
            {chatWords.showWorkers}
          </Link>
        </span>
      </header>
      {waiting.length > 0 && (
        <ul className="rail-rows">
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
      <Link className="json-link truncate" to="/sessions/$sessionId" params={{ sessionId: worker.worker_id }}>
        {visibleText(worker.goal ?? generalWords.untitled)}
      </Link>
      <NeedsStatus session={worker} />
    </li>
  )
}
