/** Arranges tasks in columns: each task one column to the right of its last dependency. Pure. */
import type { TaskView } from '@cairn/protocol'

type Task = Pick<TaskView, 'task_id' | 'after'>
export type Placed<T extends Task> = { task: T; column: number; row: number }

export function placeTasks<T extends Task>(tasks: readonly T[]): Placed<T>[] {
  const byId = new Map(tasks.map(task => [task.task_id, task]))
  const columns = new Map<string, number>()
  const columnOf = (task: T): number => {
    const known = columns.get(task.task_id)
    if (known !== undefined) return known
    // Dependencies are always older tasks; this ends the recursion if there is a cycle nevertheless.
    columns.set(task.task_id, 0)
    const before = task.after.flatMap(id => byId.get(id) ?? [])
    const column = before.length === 0 ? 0 : 1 + Math.max(...before.map(columnOf))
    columns.set(task.task_id, column)
    return column
  }
  const heights = new Map<number, number>()
  return tasks.map(task => {
    const column = columnOf(task)
    const row = heights.get(column) ?? 0
    heights.set(column, row + 1)
    return { task, column, row }
  })
}
