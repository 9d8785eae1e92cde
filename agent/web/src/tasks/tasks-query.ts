/**
 * The tasks of a session from the store: the session's log has no event for a person's answer to a blocked
 * task.
 */
import { queryOptions } from '@tanstack/react-query'
import { client } from '../api.ts'

const EVERY_MS = 3000

export const tasksQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ['tasks', sessionId],
    queryFn: ({ signal }) => client.call('listTasks', { params: { id: sessionId }, signal }),
    select: ({ tasks }) => tasks,
    // A hidden page does not poll.
    refetchInterval: EVERY_MS,
  })
