/** Says that typed text answers the open question, and which choice a number selects. */
import { Button } from 'react-aria-components'
import { ExactText } from '../ui/exact-text.tsx'
import { composerWords } from '../words/composer.ts'
import { rich } from '../words/rich.tsx'

export const AskedHint = ({
  choice,
  isDisabled,
  onSendInstead,
}: {
  choice: string | null
  isDisabled: boolean
  onSendInstead: () => void
}) => (
  <p className="composer-asked faint">
    <span role="status">
      {choice === null ? (
        composerWords.answersQuestion
      ) : (
        <>{rich(composerWords.enterAnswers, { choice: <ExactText text={choice} /> })}</>
      )}
    </span>{' '}
    <Button className="json-link" isDisabled={isDisabled} onPress={onSendInstead} data-testid="send-instead">
      {composerWords.sendInstead}
    </Button>
  </p>
)
