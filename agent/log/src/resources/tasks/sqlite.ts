/** Tasks on the embedded store. */
import type { Resource } from '../../engine/resource.ts'
import { prepareMoveTree } from '../links/sqlite.ts'
import {
  movedTask,
  storedTask,
  type StoredTask,
  type TaskChange,
  type TaskReads,
  taskRefusals,
  toTask,
} from './row.ts'

const TASK = `SELECT * FROM tasks WHERE task_id = ?`

export const tasksOnSqlite: Resource<TaskChange, TaskReads>['sqlite'] = {
  changes(db) {
    const task = db.prepare(TASK)
    const add = db.prepare(`
      INSERT INTO tasks (task_id, owner_id, root_id, goal, plan, after, max_attempts, status, attempt_count,
        state, created_at, started_at, ended_at)
      VALUES (:task_id, :owner_id, :root_id, :goal, :plan, :after, :max_attempts, :status, :attempt_count,
        :state, :created_at, :started_at, :ended_at)`)
    const move = db.prepare(`
      UPDATE tasks
      SET status = :status, attempt_count = :attempt_count, state = :state, started_at = :started_at,
        ended_at = :ended_at
      WHERE task_id = :task_id`)
    const moveTree = prepareMoveTree(db)
    return {
      'task.add'(change, { row, at }) {
        const { task_id, root_id } = change.task
        if (task.get(task_id) !== undefined) throw taskRefusals.exists(row, task_id)
        add.run(storedTask(change.task, at))
        moveTree(root_id)
      },
      'task.move'(change, { row, at }) {
        const found = task.get(change.task_id) as StoredTask | undefined
        const moved = found === undefined ? null : movedTask(found, change, at)
        if (moved === null) throw taskRefusals.moved(row, change.task_id, found?.status)
        move.run({ ...moved, task_id: change.task_id })
        moveTree(change.root_id)
      },
    }
  },

  reads(db) {
    const task = db.prepare(TASK)
    const tasks = db.prepare(`SELECT * FROM tasks WHERE owner_id = ? ORDER BY created_at, task_id`)
    return {
      task(taskId) {
        const row = task.get(taskId) as StoredTask | undefined
        return row === undefined ? null : toTask(row)
      },
      tasks: ownerId => (tasks.all(ownerId) as StoredTask[]).map(toTask),
    }
  },
}
