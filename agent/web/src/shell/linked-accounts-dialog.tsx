/** The accounts of messaging channels that speak for the person who looks, and a code for another one. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import { Button, Heading } from 'react-aria-components'
import { visibleText } from '@cairn/protocol'
import { client, describeError } from '../api.ts'
import { ModalDialog } from '../ui/modal.tsx'

const LINKS = ['channel-links']

export function LinkedAccountsDialog({ onDone }: { onDone: () => void }) {
  const queries = useQueryClient()
  const another = useRef<HTMLButtonElement>(null)
  const links = useQuery({
    queryKey: LINKS,
    queryFn: async ({ signal }) => (await client.call('listChannelLinks', { signal })).links,
    // A code is sent elsewhere while this is open.
    refetchInterval: 3_000,
  })
  const make = useMutation({ mutationFn: () => client.call('createChannelLink'), meta: { showsError: true } })
  const end = useMutation({
    mutationFn: async (link_id: string) => {
      await client.call('deleteChannelLink', { params: { link_id } })
    },
    meta: { showsError: true },
    onSettled: async () => {
      await queries.invalidateQueries({ queryKey: LINKS })
      // The button that had the focus is gone with its account.
      another.current?.focus()
    },
  })
  const failure = links.error ?? make.error ?? end.error
  return (
    <ModalDialog onClose={onDone}>
      <Heading slot="title">Linked accounts</Heading>
      <p className="faint">
        What a linked account writes on its platform is yours: your sessions, your approvals.
      </p>
      {failure && (
        <p className="inline-error" role="alert">
          {describeError(failure)}
        </p>
      )}
      <ul className="linked-accounts" data-testid="linked-accounts">
        {links.data?.map(({ id, platform, platform_user_id }) => (
          <li key={id}>
            {visibleText(platform)} <span className="mono">{visibleText(platform_user_id)}</span>
            <Button
              className="button small danger"
              isDisabled={end.isPending}
              onPress={() => end.mutate(id)}
              aria-label={`Unlink ${visibleText(platform_user_id)}`}
            >
              Unlink
            </Button>
          </li>
        ))}
      </ul>
      {links.data?.length === 0 && <p>None is linked.</p>}
      {make.data && (
        <p role="status" data-testid="link-code">
          Send <code>/link {make.data.code}</code> to the agent in a direct message, within ten minutes. It
          works once.
        </p>
      )}
      <div className="actions">
        <Button className="button" onPress={onDone}>
          Close
        </Button>
        <Button
          ref={another}
          className="button primary"
          isDisabled={make.isPending}
          onPress={() => make.mutate()}
          data-testid="make-link-code"
        >
          {make.data ? 'Another code' : 'Link an account'}
        </Button>
      </div>
    </ModalDialog>
  )
}
