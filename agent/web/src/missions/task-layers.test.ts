import { expect, test } from 'vitest'
import { placeTasks } from './task-layers.ts'

test('a task is one column after the last task that it depends on', () => {
  const task = (task_id: string, ...after: string[]) => ({ task_id, after })
  const placed = placeTasks([
    task('ground'),
    task('walls', 'ground'),
    task('well', 'ground'),
    task('roof', 'walls', 'well'),
    task('garden', 'gone'),
  ])
  expect(placed.map(({ task: { task_id }, column, row }) => [task_id, column, row])).toEqual([
    ['ground', 0, 0],
    ['walls', 1, 0],
    ['well', 1, 1],
    ['roof', 2, 0],
    ['garden', 0, 1],
  ])
  expect(placeTasks([task('a', 'b'), task('b', 'a')])).toHaveLength(2)
})
