/** The links of a session: a new one, which is shown once, and the end of those that are there. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Button, Heading } from 'react-aria-components'
import type { Session } from '@cairn/protocol'
import { client, describeError } from '../api.ts'
import { plural } from '../format.ts'
import { aboutQuery } from '../queries.ts'
import { CopyButton } from '../ui/copy-button.tsx'
import { ModalDialog } from '../ui/modal.tsx'
import { useNow } from '../ui/use-now.ts'
import { TimeOf } from '../ui/time-of.tsx'

export function ShareDialog({ session, onDone }: { session: Session; onDone: () => void }) {
  const { id } = session
  const queries = useQueryClient()
  const { data: about } = useQuery(aboutQuery)
  const [link, setLink] = useState<string | null>(null)
  const make = useMutation({
    mutationFn: () => client.call('createShare', { params: { id }, idempotencyKey: crypto.randomUUID() }),
    onSuccess: ({ token }) => setLink(`${window.location.origin}/shared#${token}`),
    onSettled: () => queries.invalidateQueries({ queryKey: keyOf(id) }),
  })
  return (
    <ModalDialog onClose={onDone}>
      <Heading slot="title">Share “{session.title ?? 'Untitled session'}”</Heading>
      <p className="muted">
        Who has the link reads the chat as it is and goes on, without a login: messages, answers, and calls of
        tools with their results. Secrets that were found are left out. A link lives for{' '}
        {plural(about?.share_days ?? 0, 'day')}, or until you end it.
      </p>
      {link !== null && (
        <p className="share-link">
          <input
            className="input"
            readOnly
            value={link}
            aria-label="The link, shown once"
            data-testid="share-link"
          />
          <CopyButton text={link} name="Copy the link" />
        </p>
      )}
      <Links sessionId={id} />
      <div className="actions">
        <Button className="button" onPress={onDone}>
          Close
        </Button>
        <Button
          className="button primary"
          isDisabled={make.isPending}
          onPress={() => make.mutate()}
          data-testid="share-make"
        >
          Make a link
        </Button>
      </div>
    </ModalDialog>
  )
}

const keyOf = (sessionId: string) => ['shares', sessionId]

/** Those that show something still, each with its end. */
function Links({ sessionId: id }: { sessionId: string }) {
  const queries = useQueryClient()
  const now = useNow(60_000)
  const { data, error } = useQuery({
    queryKey: keyOf(id),
    queryFn: ({ signal }) => client.call('listShares', { params: { id }, signal }),
  })
  const revoke = useMutation({
    mutationFn: (share_id: string) => client.call('revokeShare', { params: { id, share_id } }),
    onSettled: () => queries.invalidateQueries({ queryKey: keyOf(id) }),
  })
  if (error !== null)
    return (
      <p className="inline-error" role="alert">
        {describeError(error)}
      </p>
    )
  const live = (data?.shares ?? []).filter(
    ({ revoked_at, expires_at }) => revoked_at === null && Date.parse(expires_at) > now,
  )
  return (
    <ul className="share-list">
      {live.map(share => (
        <li key={share.id}>
          <span>
            made <TimeOf at={share.created_at} />, ends <TimeOf at={share.expires_at} />
          </span>
          <Button
            className="button danger small"
            isDisabled={revoke.isPending}
            onPress={() => revoke.mutate(share.id)}
            data-testid="share-revoke"
          >
            End it
          </Button>
        </li>
      ))}
    </ul>
  )
}
