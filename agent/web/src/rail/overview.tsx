/** What the session works towards and on: goal, plan, workers, tasks, board, and the steps that can be undone. */
import type { Session } from '@cairn/protocol'
import type { FollowedSession } from '../session/followed-session.ts'
import { PlanList } from '../tools/plan-list.tsx'
import { Cards } from './cards.tsx'
import { hasOverview } from './has-overview.ts'
import { chatWords } from '../words/chat.ts'
import { railWords } from '../words/rail.ts'

type Props = { log: FollowedSession; session: Session | undefined; onEvent: (id: number) => void }

export function Overview({ log, session, onEvent }: Props) {
  const { view } = log
  if (!hasOverview(view)) return <p className="rail-empty muted">{railWords.nothingYet}</p>
  const done = view.plan.filter(todo => todo.status === 'completed').length
  return (
    <div className="rail-parts">
      {view.plan.length > 0 && (
        <section className="rail-part" data-testid="plan" aria-labelledby="rail-plan-head">
          <header className="rail-part-head">
            <h2 id="rail-plan-head">{chatWords.plan}</h2>
            <span className="rail-facts">{chatWords.rounds(done, view.plan.length)}</span>
          </header>
          <PlanList todos={view.plan} />
        </section>
      )}
      <Cards sessionId={log.id} session={session} view={view} onEvent={onEvent} />
    </div>
  )
}
