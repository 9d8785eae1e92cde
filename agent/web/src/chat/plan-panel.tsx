/** The plan in one line above the composer; the rail shows all of it. */
import { memo } from 'react'
import type { SessionView } from '@cairn/state'
import { ExactText } from '../ui/exact-text.tsx'
import { ChevronIcon } from '../ui/page-icons.tsx'
import { chatWords } from '../words/chat.ts'

type Props = { plan: SessionView['plan']; onOpen: () => void }

export const PlanPanel = memo(function PlanPanel({ plan, onOpen }: Props) {
  if (plan.length === 0) return null
  const done = plan.filter(todo => todo.status === 'completed').length
  const current = plan.find(todo => todo.status === 'in_progress')
  return (
    <button type="button" className="plan" data-testid="plan" onClick={onOpen}>
      <ChevronIcon />
      <strong>{chatWords.plan}</strong>
      <span className="faint numeric">{chatWords.rounds(done, plan.length)}</span>
      {current && (
        <span className="truncate muted" dir="auto">
          <ExactText text={current.content} />
        </span>
      )}
    </button>
  )
})
