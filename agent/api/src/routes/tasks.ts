/** Tasks of a session, and people's actions on them: answer a block, cancel. */
import {
  cancelTask as cancel,
  findTask,
  listTasks as list,
  unblockTask as unblock,
  viewTask,
} from '@cairn/sessions'
import type { Handler } from '../handler.ts'

export const listTasks: Handler<'listTasks'> = async ({ services, principal, params }) => {
  await services.guard.check(principal, params.id)
  return { tasks: await list(services.store, params) }
}

export const unblockTask: Handler<'unblockTask'> = async ({ services, principal, params, body }) => {
  const task = await findTask(services.store, principal, params.task_id)
  await unblock(services, task, body.answer, principal)
  return viewTask(services.store, await findTask(services.store, principal, params.task_id))
}

export const cancelTask: Handler<'cancelTask'> = async ({ services, principal, params, body }) => {
  const task = await findTask(services.store, principal, params.task_id)
  await cancel(services, task, body.reason ?? 'no reason given', principal)
  return viewTask(services.store, await findTask(services.store, principal, params.task_id))
}
