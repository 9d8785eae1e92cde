/** The board of a session tree. Its notes are in the logs of their writers, so the server collects them. */
import { queryOptions } from '@tanstack/react-query'
import { client } from '../api.ts'

const EVERY_MS = 5000

/** `isLive`: a session of the tree may be writing to the board. */
export const boardQuery = (sessionId: string, isLive: boolean) =>
  queryOptions({
    queryKey: ['board', sessionId],
    queryFn: ({ signal }) => client.call('getBoard', { params: { id: sessionId }, signal }),
    refetchInterval: isLive ? EVERY_MS : false,
  })
