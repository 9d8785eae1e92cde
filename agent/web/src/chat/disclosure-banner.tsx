/** States that the agent is an AI, if the operator enabled it. Accepting it is recorded in the log. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { Button } from 'react-aria-components'
import { client } from '../api.ts'
import { aboutQuery } from '../queries.ts'
import { chatWords } from '../words/chat.ts'

export function DisclosureBanner({ sessionId, isConfirmed }: { sessionId: string; isConfirmed: boolean }) {
  const { data: about } = useQuery(aboutQuery)
  const confirm = useMutation({
    mutationFn: () => client.call('confirmDisclosure', { params: { id: sessionId } }),
  })
  if (!about || about.disclosure.level === 'none' || isConfirmed || confirm.isSuccess) return null
  return (
    <aside className="banner" aria-label={chatWords.aboutAssistant} data-testid="disclosure">
      <p>{about.disclosure.text ?? chatWords.disclosure}</p>
      <Button
        className="button"
        isDisabled={confirm.isPending}
        onPress={() => confirm.mutate()}
        data-testid="confirm-disclosure"
      >
        {chatWords.understand}
      </Button>
    </aside>
  )
}
