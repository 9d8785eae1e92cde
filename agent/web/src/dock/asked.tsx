/** The open question above the composer: its numbered choices, and that typed text answers it. */
import { Button } from 'react-aria-components'
import type { Question } from '@cairn/protocol'
import { ExactText } from '../ui/exact-text.tsx'
import { choicesOf } from './choice.ts'
import { composerWords } from '../words/composer.ts'
import { rich } from '../words/rich.tsx'

type ChoicesProps = {
  questions: readonly Question[]
  chosen: string | null
  onChoose: (number: number) => void
}

export function Choices({ questions, chosen, onChoose }: ChoicesProps) {
  const choices = choicesOf(questions)
  if (choices.length === 0) return null
  return (
    <div className="dock-choices" role="group" aria-label={composerWords.choices} data-testid="dock-choices">
      {choices.map((label, at) => (
        <button
          key={label}
          type="button"
          className="button small"
          aria-pressed={label === chosen}
          onClick={() => onChoose(at + 1)}
          data-testid="dock-choice"
        >
          <kbd>{at + 1}</kbd>
          <span className="truncate">
            <ExactText text={label} />
          </span>
        </button>
      ))}
    </div>
  )
}

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
