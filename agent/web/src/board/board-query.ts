/** The board of a session's tree. Its notes stand in the logs of their writers, so it is asked for. */
import { queryOptions } from '@tanstack/react-query'
import { client } from '../api.ts'

const EVERY_MS = 5000

/** `isLive`: somebody may be writing. */
export const boardQuery = (sessionId: string, isLive: boolean) =>
  queryOptions({
    queryKey: ['board', sessionId],
    queryFn: ({ signal }) => client.call('getBoard', { params: { id: sessionId }, signal }),
    refetchInterval: isLive ? EVERY_MS : false,
  })
