/** The foot of an archived session: it can be read, and brought back. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Button } from 'react-aria-components'
import { client } from '../api.ts'
import { refreshSession } from '../queries.ts'

export function ArchivedNote({ sessionId }: { sessionId: string }) {
  const queries = useQueryClient()
  const restore = useMutation({
    mutationFn: () => client.call('restoreSession', { params: { id: sessionId } }),
    onSuccess: () => refreshSession(queries, sessionId),
  })
  return (
    <p className="composer-closed muted">
      This session is archived. Its log can be read, not continued.{' '}
      <Button
        className="button small"
        isDisabled={restore.isPending}
        onPress={() => restore.mutate()}
        data-testid="restore"
      >
        Bring it back
      </Button>
    </p>
  )
}
