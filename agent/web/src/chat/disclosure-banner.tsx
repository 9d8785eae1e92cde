/** Says that one talks to an AI, where the operator wants it said; accepting it is recorded in the log. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { Button } from 'react-aria-components'
import { client } from '../api.ts'
import { aboutQuery } from '../queries.ts'

export function DisclosureBanner({ sessionId, isConfirmed }: { sessionId: string; isConfirmed: boolean }) {
  const { data: about } = useQuery(aboutQuery)
  const confirm = useMutation({
    mutationFn: () => client.call('confirmDisclosure', { params: { id: sessionId } }),
  })
  if (!about || about.disclosure.level === 'none' || isConfirmed || confirm.isSuccess) return null
  return (
    <aside className="banner" aria-label="About this assistant" data-testid="disclosure">
      <p>
        {about.disclosure.text ?? 'You are talking to an AI system. It can be wrong; check what matters.'}
      </p>
      <Button
        className="button"
        isDisabled={confirm.isPending}
        onPress={() => confirm.mutate()}
        data-testid="confirm-disclosure"
      >
        I understand
      </Button>
    </aside>
  )
}
