/** Shown in place of the composer in an archived session, with a button that restores it. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Button } from 'react-aria-components'
import { client } from '../api.ts'
import { refreshSession } from '../queries.ts'
import { composerWords } from '../words/composer.ts'

export function ArchivedNote({ sessionId }: { sessionId: string }) {
  const queries = useQueryClient()
  const restore = useMutation({
    mutationFn: () => client.call('restoreSession', { params: { id: sessionId } }),
    onSuccess: () => refreshSession(queries, sessionId),
  })
  return (
    <p className="composer-closed muted">
      {composerWords.archived}{' '}
      <Button
        className="button small"
        isDisabled={restore.isPending}
        onPress={() => restore.mutate()}
        data-testid="restore"
      >
        {composerWords.restore}
      </Button>
    </p>
  )
}
