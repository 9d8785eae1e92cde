/** Sends a test notification; the list below shows its delivery state. */
import { Button } from 'react-aria-components'
import { client } from '../api.ts'
import { sayError } from '../ui/toasts.tsx'
import { useNotificationChange } from './notification-queries.ts'
import { notificationsWords } from '../words/notifications.ts'

export function TestButton({ way }: { way: 'webhook' | 'mail' | 'push' }) {
  const test = useNotificationChange(() => client.call('testNotice', { body: { way } }))
  return (
    <Button
      className="button"
      isDisabled={test.isPending}
      data-testid={`test-${way}`}
      onPress={() => test.mutate(undefined, { onError: sayError })}
    >
      {notificationsWords.sendTest}
    </Button>
  )
}
