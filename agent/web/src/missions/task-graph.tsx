/** The tasks of a mission as a graph, ordered by their dependencies, and as a table. */
import { Link } from '@tanstack/react-router'
import { type TaskView, visibleText } from '@cairn/protocol'
import { oneLine } from '../format.ts'
import { Status, type StatusKind } from '../ui/status.tsx'
import { placeTasks } from './task-layers.ts'
import { missionsWords } from '../words/missions.ts'
import { generalWords } from '../words/general.ts'

const KINDS: Record<TaskView['status'], StatusKind> = {
  todo: 'idle',
  ready: 'idle',
  running: 'running',
  blocked: 'waiting',
  done: 'done',
  failed: 'failed',
  cancelled: 'idle',
}
const STATE_WORDS = missionsWords.taskStates

const WIDTH = 190
const HEIGHT = 44
const GAP_X = 44
const GAP_Y = 16

export function TaskGraph({ tasks }: { tasks: readonly TaskView[] }) {
  const placed = placeTasks(tasks)
  const at = new Map(
    placed.map(({ task, column, row }) => [
      task.task_id,
      { x: column * (WIDTH + GAP_X) + 2, y: row * (HEIGHT + GAP_Y) + 2 },
    ]),
  )
  const width = Math.max(...placed.map(({ column }) => (column + 1) * (WIDTH + GAP_X))) - GAP_X + 4
  const height = Math.max(...placed.map(({ row }) => (row + 1) * (HEIGHT + GAP_Y))) - GAP_Y + 4
  return (
    <>
      <div className="task-graph" data-testid="task-graph">
        <svg
          viewBox={`0 0 ${width} ${height}`}
          width={width}
          height={height}
          aria-label={missionsWords.taskOrder}
        >
          {placed.flatMap(({ task }) =>
            task.after.map(id => {
              const [from, to] = [at.get(id), at.get(task.task_id)]
              return from === undefined || to === undefined ? null : (
                <path
                  key={`${id} ${task.task_id}`}
                  className="task-edge"
                  d={edge(from.x + WIDTH, from.y + HEIGHT / 2, to.x, to.y + HEIGHT / 2)}
                />
              )
            }),
          )}
          {placed.map(({ task }) => (
            <Node key={task.task_id} task={task} {...(at.get(task.task_id) ?? { x: 0, y: 0 })} />
          ))}
        </svg>
      </div>
      <TaskTable tasks={tasks} />
    </>
  )
}

const edge = (x1: number, y1: number, x2: number, y2: number): string => {
  const middle = (x1 + x2) / 2
  return `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`
}

/** Characters of a goal that fit in its node; a longer goal has a tooltip. */
const SHOWN = 26

function Node({ task, x, y }: { task: TaskView; x: number; y: number }) {
  const goal = visibleText(task.goal)
  const box = (
    <g className="task-node" data-status={task.status}>
      {oneLine(goal, SHOWN) !== goal && <title>{goal}</title>}
      <rect x={x} y={y} width={WIDTH} height={HEIGHT} rx={8} />
      <text x={x + 12} y={y + 18} className="task-goal">
        {oneLine(goal, SHOWN)}
      </text>
      <circle cx={x + 16} cy={y + 31} r={4} />
      <text x={x + 26} y={y + 35} className="task-status">
        {STATE_WORDS[task.status]}
        {task.attempt_count > 1 ? `, ${missionsWords.attempt(task.attempt_count)}` : ''}
      </text>
    </g>
  )
  return task.worker_id === null ? (
    box
  ) : (
    <Link to="/sessions/$sessionId" params={{ sessionId: task.worker_id }}>
      {box}
    </Link>
  )
}

function TaskTable({ tasks }: { tasks: readonly TaskView[] }) {
  const goals = new Map(tasks.map(task => [task.task_id, visibleText(task.goal)]))
  return (
    <details className="task-table">
      <summary>{missionsWords.asTable}</summary>
      <table className="table" data-testid="task-table">
        <thead>
          <tr>
            <th scope="col">{missionsWords.task}</th>
            <th scope="col">{generalWords.state}</th>
            <th scope="col">{missionsWords.after}</th>
            <th scope="col">{generalWords.result}</th>
          </tr>
        </thead>
        <tbody>
          {tasks.map(task => (
            <tr key={task.task_id}>
              <th scope="row">{goals.get(task.task_id)}</th>
              <td>
                <Status kind={KINDS[task.status]} word={STATE_WORDS[task.status]} />
              </td>
              <td>{task.after.map(id => goals.get(id) ?? id).join(', ') || '–'}</td>
              <td>{oneLine(visibleText(task.result ?? task.error ?? task.blocked_reason ?? ''), 160)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  )
}
