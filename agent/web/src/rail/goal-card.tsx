/** The goal of the session: its criteria, its verdicts, its cost, and the commands that change it. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { memo, useState } from 'react'
import { Button } from 'react-aria-components'
import type { Goal, Verdict } from '@cairn/state'
import { client } from '../api.ts'
import { formatSpent, formatTokens } from '../format.ts'
import { refreshSession } from '../queries.ts'
import { ChevronIcon } from '../ui/page-icons.tsx'
import { Status, type StatusKind } from '../ui/status.tsx'
import './goal-card.css'
import { chatWords } from '../words/chat.ts'
import { generalWords } from '../words/general.ts'

const KINDS: Record<Goal['status'], StatusKind> = {
  active: 'running',
  paused: 'paused',
  satisfied: 'done',
  blocked: 'waiting',
  failed: 'failed',
  max_iterations_reached: 'failed',
}
const WORDS: Record<Goal['status'] | Verdict['result'], string> = chatWords.goal

type Props = { sessionId: string; goal: Goal; isUnpriced: boolean; isArchived: boolean }

export const GoalCard = memo(function GoalCard({ sessionId, goal, isUnpriced, isArchived }: Props) {
  const queries = useQueryClient()
  // Collapsed once the goal is over, unless the person chose otherwise.
  const [chosen, setChosen] = useState<boolean | null>(null)
  const steer = useMutation({
    mutationFn: (action: 'pause' | 'resume' | 'clear') =>
      client.call('sendMessage', { params: { id: sessionId }, body: { content: `/goal ${action}` } }),
    onSuccess: () => refreshSession(queries, sessionId),
  })
  const isUnderWay = goal.status === 'active' || goal.status === 'paused'
  const isOpen = chosen ?? isUnderWay
  const button = (action: 'pause' | 'resume' | 'clear', label: string) => (
    <Button
      className="button small"
      isDisabled={steer.isPending}
      onPress={() => steer.mutate(action)}
      data-testid={`goal-${action}`}
    >
      {label}
    </Button>
  )
  return (
    <details className="rail-part goal" data-testid="goal" data-status={goal.status} open={isOpen}>
      <summary
        onClick={event => {
          event.preventDefault()
          setChosen(!isOpen)
        }}
      >
        <ChevronIcon />
        <strong>{generalWords.goal}</strong>
        <span className="rail-facts">
          <Status kind={KINDS[goal.status]} word={goal.open ? chatWords.evaluating : WORDS[goal.status]} />
        </span>
        <span className="rail-object">{goal.description}</span>
        <span className="rail-sums faint numeric">
          {chatWords.rounds(goal.iteration, goal.max_iterations)} ·{' '}
          {generalWords.tokenCount(formatTokens(goal.spent.tokens))} ·{' '}
          {formatSpent(goal.spent.cost_usd, isUnpriced)}
        </span>
      </summary>
      <div className="goal-body">
        <p className="goal-rubric">{goal.rubric}</p>
        {goal.verdicts.length > 0 && (
          <ol>
            {goal.verdicts.map(verdict => (
              <li key={verdict.event_id} data-result={verdict.result}>
                <strong>{WORDS[verdict.result]}</strong>
                <span>
                  {verdict.explanation}
                  {verdict.feedback !== '' && <em> {verdict.feedback}</em>}
                </span>
              </li>
            ))}
          </ol>
        )}
        {isUnderWay && !isArchived && (
          <div className="goal-actions">
            {goal.status === 'active'
              ? button('pause', generalWords.pause)
              : button('resume', generalWords.resume)}
            {button('clear', chatWords.clear)}
          </div>
        )}
      </div>
    </details>
  )
})
