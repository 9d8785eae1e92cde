import { useMutation } from '@tanstack/react-query'
import { client } from '../api.ts'

export const useStop = (sessionId: string) =>
  useMutation({ mutationFn: () => client.call('stopSession', { params: { id: sessionId } }) })
