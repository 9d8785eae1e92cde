/** Changes to tasks within a commit on Postgres, under the locks of its sessions and trees. */
import { taskRefusals } from '../change-task.ts'
import type { StoredSession } from '../session-rows.ts'
import { movedTask, storedTask, type StoredTask, type TaskChange } from '../tasks.ts'
import { MOVE_TREE } from './change-link.ts'
import type { Statement } from './connections.ts'
import type { Ask } from './row-changes.ts'

const statement = (name: string, text: string): Statement => ({ name, text })

const TASK = statement('task_to_move', 'SELECT * FROM tasks WHERE task_id = $1')
const ADD_TASK = statement(
  'add_task',
  'INSERT INTO tasks (task_id, owner_id, root_id, goal, plan, after, max_attempts, status, attempt_count, ' +
    'state, created_at, started_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ' +
    'ON CONFLICT (task_id) DO NOTHING RETURNING task_id',
)
const MOVE_TASK = statement(
  'move_task',
  'UPDATE tasks SET status = $2, attempt_count = $3, state = $4, started_at = $5, ended_at = $6 WHERE ' +
    'task_id = $1',
)

export async function changeTask(
  ask: Ask,
  row: StoredSession,
  at: number,
  change: TaskChange,
): Promise<void> {
  if (change.do === 'task.add') {
    const task = storedTask(change.task, at)
    // First: it locks the tree, even if that has no row yet.
    await ask(MOVE_TREE, [task.root_id])
    const added = await ask(ADD_TASK, [
      task.task_id,
      task.owner_id,
      task.root_id,
      task.goal,
      task.plan,
      task.after,
      task.max_attempts,
      task.status,
      task.attempt_count,
      task.state,
      task.created_at,
      task.started_at,
    ])
    if (added.length === 0) throw taskRefusals.exists(row, task.task_id)
    return
  }
  await ask(MOVE_TREE, [change.root_id])
  const found = (await ask(TASK, [change.task_id]))[0] as StoredTask | undefined
  const moved = found === undefined ? null : movedTask(found, change, at)
  if (moved === null) throw taskRefusals.moved(row, change.task_id, found?.status)
  const { status, attempt_count, state, started_at, ended_at } = moved
  await ask(MOVE_TASK, [change.task_id, status, attempt_count, state, started_at, ended_at])
}
