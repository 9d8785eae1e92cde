/** The completions of the word at the caret, above the composer, each with a line of help. */
import type { Completion } from './use-completion.ts'
import { composerWords } from '../words/composer.ts'

export const LIST_ID = 'composer-completions'
export const optionId = (at: number) => `${LIST_ID}-${at}`

export function CompletionList({ candidates, active, choose }: Completion) {
  if (candidates.length === 0) return null
  return (
    <>
      <p className="visually-hidden" role="status">
        {composerWords.completionHint(candidates.length)}
      </p>
      <div
        className="completions"
        id={LIST_ID}
        role="listbox"
        aria-label={composerWords.completions}
        data-testid="completions"
      >
        {candidates.map((candidate, at) => (
          <div
            key={candidate.label}
            id={optionId(at)}
            role="option"
            tabIndex={-1}
            aria-selected={at === active}
            className="completion"
            data-testid="completion"
            // Keeps the focus in the text field.
            onMouseDown={event => {
              event.preventDefault()
              choose(candidate)
            }}
          >
            <span className="completion-name">{candidate.label}</span>
            <span className="completion-help faint">{candidate.help}</span>
          </div>
        ))}
      </div>
    </>
  )
}
