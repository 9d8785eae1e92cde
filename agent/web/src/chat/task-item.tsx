/**
 * A task, where the session created it: its goal, dependencies, attempts and result. A model wrote these
 * texts, so they are shown as plain text with hidden characters made visible.
 */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { memo, useState } from 'react'
import { visibleText } from '@cairn/protocol'
import { isTaskItemOver, type TaskItem as Task, type WorkerOutcome } from '@cairn/state'
import { formatDuration, formatTokens, oneLine } from '../format.ts'
import { tasksQuery } from '../tasks/tasks-query.ts'
import { ChevronIcon, WorkerIcon } from '../ui/page-icons.tsx'
import { Status, type StatusKind } from '../ui/status.tsx'
import { causeWord } from '../workers/worker-words.ts'
import { costOf, Elapsed, Said } from './worker-item.tsx'
import './worker-item.css'
import './task-item.css'
import { chatWords } from '../words/chat.ts'
import { generalWords } from '../words/general.ts'

const WORDS = chatWords.taskState
type TaskStatus = keyof typeof WORDS
const KINDS: Record<TaskStatus, StatusKind> = {
  todo: 'idle',
  ready: 'idle',
  running: 'running',
  blocked: 'waiting',
  done: 'done',
  failed: 'failed',
  cancelled: 'idle',
}

/** The status from the log. The store is newer for a task that a person answered or that is queued. */
function useStanding(sessionId: string, item: Task): TaskStatus {
  const isOpen = item.status === 'blocked' || item.status === 'running'
  const { data } = useQuery({ ...tasksQuery(sessionId), enabled: isOpen })
  const known = isOpen ? data?.find(task => task.task_id === item.task_id)?.status : undefined
  return known === 'running' || known === 'ready' ? known : item.status
}

export const TaskItem = memo(function TaskItem({ item, sessionId }: { item: Task; sessionId: string }) {
  const [isOpen, setOpen] = useState(false)
  const standing = useStanding(sessionId, item)
  const last = item.attempts.at(-1)
  const said = standing === 'blocked' || isTaskItemOver(item) ? item.reason : null
  return (
    <details
      className="tool worker task"
      data-testid="task-card"
      data-task-id={item.task_id}
      data-status={standing}
      open={isOpen}
      onToggle={event => setOpen(event.currentTarget.open)}
    >
      <summary>
        <ChevronIcon />
        <WorkerIcon />
        <span className="tool-verb">{chatWords.task}</span>
        <span className="worker-goal truncate">{oneLine(visibleText(item.goal), 140)}</span>
        <span className="tool-result">
          <Status kind={KINDS[standing]} word={WORDS[standing]} />
          {standing === 'running' && last !== undefined && <Elapsed since={last.created_at} />}
        </span>
        <span className="task-facts faint numeric truncate">{factsOf(item)}</span>
        {said !== null && <span className="task-reason truncate">{oneLine(visibleText(said), 200)}</span>}
      </summary>
      {isOpen && <TaskBody item={item} reason={said} />}
    </details>
  )
})

/** For example "assistant · attempt 2 of 3 · after lay the ground". */
function factsOf({ agent, attempts, max_attempts: most, after }: Task): string {
  const facts = agent === null ? [] : [agent]
  const made = attempts.length
  if (made > 0) facts.push(chatWords.attempt(made, most))
  else if (most !== null) facts.push(chatWords.attemptsMax(most))
  if (after.length > 0) facts.push(chatWords.afterTasks(after.map(nameOf).join(', ')))
  return facts.join(' · ')
}

const nameOf = ({ task_id, goal }: Task['after'][number]): string => oneLine(visibleText(goal ?? task_id), 60)

function TaskBody({
  item: { goal, after, attempts, status },
  reason,
}: {
  item: Task
  reason: string | null
}) {
  const result = status === 'done' ? (attempts.at(-1)?.outcome ?? null) : null
  return (
    <div className="tool-body">
      <h4>{generalWords.goal}</h4>
      <Said text={goal} />
      {after.length > 0 && (
        <>
          <h4>{chatWords.after}</h4>
          <ul>
            {after.map(each => (
              <li key={each.task_id}>{nameOf(each)}</li>
            ))}
          </ul>
        </>
      )}
      {reason !== null && (
        <>
          <h4>{status === 'blocked' ? chatWords.needs : chatWords.reason}</h4>
          <Said text={reason} />
        </>
      )}
      {attempts.length > 0 && (
        <>
          <h4>{attempts.length === 1 ? chatWords.attemptHead : chatWords.attemptsHead}</h4>
          <ol className="task-attempts">
            {attempts.map(({ worker_id, number, outcome }) => (
              <li key={worker_id} data-testid="task-attempt">
                <span className="faint numeric">{number}</span>
                <span data-failed={(outcome !== null && outcome.cause !== null) || undefined}>
                  {outcome === null
                    ? status === 'blocked'
                      ? chatWords.needsAnswer
                      : chatWords.taskRunning
                    : attemptSums(outcome)}
                </span>
                <Link className="json-link" to="/sessions/$sessionId" params={{ sessionId: worker_id }}>
                  {chatWords.openSession}
                </Link>
                {outcome !== null && outcome.cause !== null && (
                  <span className="task-error">{oneLine(visibleText(outcome.text), 400)}</span>
                )}
              </li>
            ))}
          </ol>
        </>
      )}
      {result !== null && (
        <>
          <h4>{generalWords.result}</h4>
          <Said text={result.text} />
          {result.truncated && <p className="faint">{chatWords.fullText}</p>}
        </>
      )}
    </div>
  )
}

const attemptSums = (outcome: WorkerOutcome): string =>
  [
    outcome.cause === null ? chatWords.taskState.done : causeWord(outcome.cause),
    formatDuration(outcome.duration_seconds * 1000),
    generalWords.tokenCount(formatTokens(outcome.tokens)),
    ...costOf(outcome),
  ].join(' · ')
