/** todo: the agent's plan, always written as a whole. */
import { Todo } from '@cairn/protocol'
import { z } from 'zod'
import { todoUpdated } from './events.ts'
import { defineTool } from './parameters.ts'

const MAX_TODOS = 100

export const todoTool = defineTool({
  name: 'todo',
  description:
    'Write your plan: the whole list each time, in order. Keep exactly one item in_progress while you ' +
    'work, and mark items completed as soon as they are.',
  parameters: z.strictObject({ todos: z.array(Todo).max(MAX_TODOS) }),
  readOnly: false,
  changesSessionOnly: true,
  idempotent: true,
  run({ todos }) {
    const ids = new Set(todos.map(({ id }) => id))
    if (ids.size < todos.length) return Promise.reject(new Error('two items of the list have the same id'))
    const count = (status: string) => todos.filter(todo => todo.status === status).length
    const summary = {
      total: todos.length,
      pending: count('pending'),
      in_progress: count('in_progress'),
      completed: count('completed'),
      cancelled: count('cancelled'),
    }
    return Promise.resolve({ content: { todos, summary }, events: [todoUpdated(todos)] })
  },
})
