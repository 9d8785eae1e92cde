/** Tasks on Postgres; changes run under the locks of their sessions and trees. */
import { addToDirectory, orgOf } from '../../engine/directory.ts'
import type { Resource } from '../../engine/resource.ts'
import type { Statement } from '../../postgres/connections.ts'
import { MOVE_TREE } from '../links/postgres.ts'
import {
  moveTask,
  storedTask,
  type StoredTask,
  type TaskChange,
  type TaskReads,
  taskRefusals,
  toTask,
} from './row.ts'

const TASK: Statement = {
  name: 'task',
  text: `SELECT * FROM tasks WHERE org_key = ${orgOf('task', '$1')} AND task_id = $1`,
}
const TASK_TO_MOVE: Statement = {
  name: 'task_to_move',
  text: `SELECT * FROM tasks WHERE org_key = $1 AND task_id = $2`,
}
const TASKS: Statement = {
  name: 'tasks_of_owner',
  text: `
    SELECT * FROM tasks WHERE org_key = ${orgOf('session', '$1')} AND owner_id = $1
    ORDER BY created_at, task_id`,
}
const ADD: Statement = {
  name: 'add_task',
  text: `
    WITH entry AS (${addToDirectory('task', '$1', '$13')})
    INSERT INTO tasks (task_id, owner_id, root_id, goal, plan, after, max_attempts, status, attempt_count,
      state, created_at, started_at, org_key)
    SELECT $1, $2, $3, $4, $5, $6, $7::bigint, $8, $9::bigint, $10, $11::bigint, $12::bigint, $13 FROM entry
    RETURNING task_id`,
}
const MOVE: Statement = {
  name: 'move_task',
  text: `
    UPDATE tasks
    SET status = $2, attempt_count = $3, state = $4, started_at = $5, ended_at = $6
    WHERE org_key = $7 AND task_id = $1`,
}

export const tasksOnPostgres: Resource<TaskChange, TaskReads>['postgres'] = {
  changes: {
    async 'task.add'(ask, change, { row, at }) {
      const task = storedTask(change.task, at)
      // First: it locks the tree, even if that has no row yet.
      await ask(MOVE_TREE, [row.org_key, task.root_id])
      const added = await ask(ADD, [
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
        row.org_key,
      ])
      if (added.length === 0) throw taskRefusals.exists(row, task.task_id)
    },
    async 'task.move'(ask, change, context) {
      const { org_key } = context.row
      await ask(MOVE_TREE, [org_key, change.root_id])
      const found = (await ask(TASK_TO_MOVE, [org_key, change.task_id]))[0] as StoredTask | undefined
      const { status, attempt_count, state, started_at, ended_at } = moveTask(found, change, context)
      await ask(MOVE, [change.task_id, status, attempt_count, state, started_at, ended_at, org_key])
    },
  },

  store: ({ db }) => ({
    async get(taskId) {
      const [row] = await db.query(TASK, [taskId], { repeatable: true })
      return row === undefined ? null : toTask(row as StoredTask)
    },
    list: async ownerId =>
      (await db.query(TASKS, [ownerId], { repeatable: true })).map(row => toTask(row as StoredTask)),
  }),
}
