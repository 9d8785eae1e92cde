/** The open tasks of the session, with an answer form for each blocked one. */
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { Button } from 'react-aria-components'
import { type TaskView, visibleText } from '@cairn/protocol'
import { type Children, hasTasks } from '@cairn/state'
import { oneLine } from '../format.ts'
import { AnswerTask } from '../tasks/answer-task.tsx'
import { tasksQuery } from '../tasks/tasks-query.ts'
import { ExactText } from '../ui/exact-text.tsx'
import { Status } from '../ui/status.tsx'
import './tasks-card.css'
import { chatWords } from '../words/chat.ts'
import { generalWords } from '../words/general.ts'

export function TasksCard({ sessionId, state }: { sessionId: string; state: Children }) {
  const { data: tasks = [], refetch } = useQuery({ ...tasksQuery(sessionId), enabled: hasTasks(state) })
  // Tasks start and end in this log, so a change of it triggers a new query.
  useEffect(() => {
    if (hasTasks(state)) void refetch()
  }, [state, refetch])
  const open = tasks.filter(isOpen)
  const blocked = open.filter(({ status }) => status === 'blocked')
  if (!hasTasks(state) || open.length === 0) return null
  return (
    <section className="rail-part tasks" data-testid="tasks" aria-labelledby="rail-tasks-head">
      <header className="rail-part-head">
        <h2 id="rail-tasks-head">{chatWords.tasks}</h2>
        <span className="rail-facts">
          <Status kind={blocked.length > 0 ? 'waiting' : 'running'} word={standings(open)} />
        </span>
      </header>
      {blocked.length > 0 && (
        <ul>
          {blocked.map(task => (
            <Blocked key={task.task_id} sessionId={sessionId} task={task} />
          ))}
        </ul>
      )}
    </section>
  )
}

const OPEN = ['blocked', 'running', 'ready', 'todo'] as const
const isOpen = ({ status }: TaskView): boolean => OPEN.some(open => open === status)

/** For example "4 tasks: 1 blocked, 2 running, 1 queued" or "2 tasks blocked". */
function standings(tasks: readonly TaskView[]): string {
  const counted = OPEN.map(status => ({
    word: chatWords.taskState[status],
    count: tasks.filter(task => task.status === status).length,
  })).filter(({ count }) => count > 0)
  const [first] = counted
  const all = chatWords.taskCount(tasks.length)
  return counted.length === 1 && first !== undefined
    ? `${all} ${first.word}`
    : `${all}: ${counted.map(({ word, count }) => `${count} ${word}`).join(', ')}`
}

function Blocked({ sessionId, task }: { sessionId: string; task: TaskView }) {
  const [isAnswering, setAnswering] = useState(false)
  return (
    <li data-testid="blocked-task" data-task-id={task.task_id}>
      <div className="tasks-blocked">
        <Status kind="waiting" word={generalWords.blocked} />
        <span className="tasks-reason">
          <span>
            <ExactText text={task.blocked_reason ?? ''} />
          </span>
          <span className="faint truncate">{oneLine(visibleText(task.goal), 140)}</span>
        </span>
        {!isAnswering && (
          <Button className="button" onPress={() => setAnswering(true)} data-testid="answer-blocked">
            {generalWords.answer}
          </Button>
        )}
      </div>
      {isAnswering && <AnswerTask sessionId={sessionId} taskId={task.task_id} itemId={null} />}
    </li>
  )
}
