/** The share links of a session: creating one, which is shown once, and revoking existing ones. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Button, Heading } from 'react-aria-components'
import type { Session } from '@cairn/protocol'
import { client, describeError } from '../api.ts'
import { aboutQuery } from '../queries.ts'
import { CopyButton } from '../ui/copy-button.tsx'
import { ModalDialog } from '../ui/modal.tsx'
import { useNow } from '../ui/use-now.ts'
import { TimeOf } from '../ui/time-of.tsx'
import { shareWords } from '../words/share.ts'
import { generalWords } from '../words/general.ts'
import { rich } from '../words/rich.tsx'

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
      <Heading slot="title">{shareWords.shareNamed(session.title ?? generalWords.untitledSession)}</Heading>
      <p className="muted">{shareWords.about(about?.share_days ?? 0)}</p>
      {link !== null && (
        <p className="share-link">
          <input
            className="input"
            readOnly
            value={link}
            aria-label={shareWords.shownOnce}
            data-testid="share-link"
          />
          <CopyButton text={link} name={shareWords.copyLink} />
        </p>
      )}
      <Links sessionId={id} />
      <div className="actions">
        <Button className="button" onPress={onDone}>
          {generalWords.close}
        </Button>
        <Button
          className="button primary"
          isDisabled={make.isPending}
          onPress={() => make.mutate()}
          data-testid="share-make"
        >
          {shareWords.createLink}
        </Button>
      </div>
    </ModalDialog>
  )
}

const keyOf = (sessionId: string) => ['shares', sessionId]

/** The active links, each with its expiry. */
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
            {rich(shareWords.link, {
              created: <TimeOf at={share.created_at} />,
              expires: <TimeOf at={share.expires_at} />,
            })}
          </span>
          <Button
            className="button danger small"
            isDisabled={revoke.isPending}
            onPress={() => revoke.mutate(share.id)}
            data-testid="share-revoke"
          >
            {shareWords.revoke}
          </Button>
        </li>
      ))}
    </ul>
  )
}
