/** The tasks of a session as the store has them: that a person answered a block stands in no event of it. */
import { queryOptions } from '@tanstack/react-query'
import { client } from '../api.ts'

const EVERY_MS = 3000

export const tasksQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ['tasks', sessionId],
    queryFn: ({ signal }) => client.call('listTasks', { params: { id: sessionId }, signal }),
    select: ({ tasks }) => tasks,
    // A page that is hidden asks nothing.
    refetchInterval: EVERY_MS,
  })
