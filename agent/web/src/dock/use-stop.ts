import { useMutation } from '@tanstack/react-query'
import { client } from '../api.ts'

/** Stops the running turn of a session. */
export const useStop = (sessionId: string) =>
  useMutation({ mutationFn: () => client.call('stopSession', { params: { id: sessionId } }) })
