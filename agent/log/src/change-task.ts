/** Changes to tasks within a commit, inside the writer's transaction. */
import { Refusing } from './commit-rules.ts'
import type { LinkSql } from './link-sql.ts'
import type { StoredSession } from './session-rows.ts'
import { movedTask, storedTask, type StoredTask, type TaskChange } from './tasks.ts'

/** Refusals of changes to tasks, worded alike for all stores. */
export const taskRefusals = {
  exists: (row: StoredSession, task: string) =>
    new Refusing('exists', `[commit] task ${task} exists already`, row),
  moved: (row: StoredSession, task: string, status: string | undefined) =>
    new Refusing('task_moved', `[commit] task ${task} is ${status ?? 'missing'}`, row),
}

export function changeTask(sql: LinkSql, row: StoredSession, at: number, change: TaskChange): void {
  if (change.do === 'task.add') {
    const { task_id, root_id } = change.task
    if (sql.task.get(task_id) !== undefined) throw taskRefusals.exists(row, task_id)
    sql.addTask.run(storedTask(change.task, at))
    sql.moveTree.run(root_id)
    return
  }
  const found = sql.task.get(change.task_id) as StoredTask | undefined
  const moved = found === undefined ? null : movedTask(found, change, at)
  if (moved === null) throw taskRefusals.moved(row, change.task_id, found?.status)
  sql.moveTask.run({ ...moved, task_id: change.task_id })
  sql.moveTree.run(change.root_id)
}
