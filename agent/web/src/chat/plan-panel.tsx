/** The agent's plan as it last wrote it. */
import { memo, useState } from 'react'
import type { SessionView } from '@cairn/state'
import { ChevronIcon } from '../ui/icons.tsx'

const SIGNS = { pending: '○', in_progress: '◐', completed: '●', cancelled: '–' } as const
const WORDS = {
  pending: 'to do',
  in_progress: 'in progress',
  completed: 'done',
  cancelled: 'cancelled',
} as const

export const PlanPanel = memo(function PlanPanel({
  plan,
  isRunning,
}: {
  plan: SessionView['plan']
  isRunning: boolean
}) {
  const done = plan.filter(todo => todo.status === 'completed').length
  // Open while it is being worked off, unless a person has said otherwise.
  const [chosen, setChosen] = useState<boolean | null>(null)
  const isOpen = chosen ?? isRunning
  const current = plan.find(todo => todo.status === 'in_progress')
  if (plan.length === 0) return null
  return (
    <details className="plan" data-testid="plan" open={isOpen}>
      <summary
        onClick={event => {
          event.preventDefault()
          setChosen(!isOpen)
        }}
      >
        <ChevronIcon />
        <strong>Plan</strong>
        <span className="faint numeric">
          {done} of {plan.length}
        </span>
        {!isOpen && current && <span className="truncate muted">{current.content}</span>}
      </summary>
      <ol>
        {plan.map(todo => (
          <li key={todo.id} data-status={todo.status}>
            <span aria-label={WORDS[todo.status]} role="img">
              {SIGNS[todo.status]}
            </span>
            <span>{todo.content}</span>
          </li>
        ))}
      </ol>
    </details>
  )
})
