/** Routes of tasks and the board. */
import { z } from 'zod'
import { TaskView, BoardView } from '../resources/index.ts'
import { onSession, said } from './fields.ts'
import type { Route } from './route.ts'

export const TASK_ROUTES = {
  listTasks: {
    method: 'GET',
    path: '/sessions/{id}/tasks',
    summary: 'List the tasks of the session, oldest first',
    ...onSession,
    status: 200,
    answer: z.object({ tasks: z.array(TaskView) }),
  },
  getBoard: {
    method: 'GET',
    path: '/sessions/{id}/board',
    summary: 'Get the board of the session tree: all notes that have not expired',
    ...onSession,
    status: 200,
    answer: BoardView,
  },
  unblockTask: {
    method: 'POST',
    path: '/tasks/{task_id}/unblock',
    errors: ['already_answered'],
    summary: 'Answer a blocked task: its worker continues with the answer. The first answer counts',
    ...onSession,
    body: z.strictObject({ answer: said.pipe(z.string().max(20_000)) }),
    status: 200,
    answer: TaskView,
  },
  cancelTask: {
    method: 'POST',
    path: '/tasks/{task_id}/cancel',
    errors: ['already_answered'],
    summary: 'Cancel a task that has not ended, and all tasks that depend on it',
    ...onSession,
    body: z.strictObject({ reason: said.pipe(z.string().max(500)).optional() }),
    status: 200,
    answer: TaskView,
  },
} as const satisfies Record<string, Route>
