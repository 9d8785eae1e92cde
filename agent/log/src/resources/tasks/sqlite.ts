/** Tasks on the embedded store. */
import { addToDirectory, orgOf } from '../../engine/directory.ts'
import type { Resource } from '../../engine/resource.ts'
import { prepareMoveTree } from '../links/sqlite.ts'
import {
  moveTask,
  storedTask,
  type StoredTask,
  type TaskChange,
  type TaskReads,
  taskRefusals,
  toTask,
} from './row.ts'

const TASK = `SELECT * FROM tasks WHERE org_key = ${orgOf('task', '?1')} AND task_id = ?1`

export const tasksOnSqlite: Resource<TaskChange, TaskReads>['sqlite'] = {
  changes(db) {
    const task = db.prepare(`SELECT * FROM tasks WHERE org_key = ? AND task_id = ?`)
    const enter = db.prepare(addToDirectory('task', '?', '?'))
    const add = db.prepare(`
      INSERT INTO tasks (org_key, task_id, owner_id, root_id, goal, plan, after, max_attempts, status, attempt_count,
        state, created_at, started_at, ended_at)
      VALUES (:org_key, :task_id, :owner_id, :root_id, :goal, :plan, :after, :max_attempts, :status, :attempt_count,
        :state, :created_at, :started_at, :ended_at)`)
    const move = db.prepare(`
      UPDATE tasks
      SET status = :status, attempt_count = :attempt_count, state = :state, started_at = :started_at,
        ended_at = :ended_at
      WHERE org_key = :org_key AND task_id = :task_id`)
    const moveTree = prepareMoveTree(db)
    return {
      'task.add'(change, { row, at }) {
        const { task_id, root_id } = change.task
        if (enter.get(task_id, row.org_key) === undefined) throw taskRefusals.exists(row, task_id)
        add.run({ ...storedTask(change.task, at), org_key: row.org_key })
        moveTree(row.org_key, root_id)
      },
      'task.move'(change, context) {
        const { org_key } = context.row
        const found = task.get(org_key, change.task_id) as StoredTask | undefined
        move.run({ ...moveTask(found, change, context), org_key, task_id: change.task_id })
        moveTree(org_key, change.root_id)
      },
    }
  },

  reads(db) {
    const task = db.prepare(TASK)
    const tasks = db.prepare(`
      SELECT * FROM tasks WHERE org_key = ${orgOf('session', '?1')} AND owner_id = ?1
      ORDER BY created_at, task_id`)
    return {
      get(taskId) {
        const row = task.get(taskId) as StoredTask | undefined
        return row === undefined ? null : toTask(row)
      },
      list: ownerId => (tasks.all(ownerId) as StoredTask[]).map(toTask),
    }
  },
}
